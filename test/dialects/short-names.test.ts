/** Ids and codes of an upstream are kept and sent for as long as its response. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DecodedEvent } from '../../src/dialects/dialect.ts';
import { readEvent, readWhole } from '../../src/dialects/openai/read.ts';
import { nextOf } from '../../src/wire/receiver.ts';
import { sseEvent } from '../../src/wire/sse.ts';
import { begin } from '../harness/wire-listen.ts';
import { wires } from '../harness/wire-world.ts';

const long = '나'.repeat(501);
const cut = '나'.repeat(500);

test('ids and codes of a response are cut to 500 characters, its tool call ids are not', () => {
  const choice = {
    finish_reason: long,
    native_finish_reason: long,
    delta: { tool_calls: [{ id: long, function: { name: 'f' } }] },
    message: { content: 'a' },
  };
  const text = JSON.stringify({ id: long, system_fingerprint: long, service_tier: long, choices: [choice] });
  for (const event of [readEvent('chat', text), readWhole('chat', text)]) {
    assert.ok(event.kind === 'chunk');
    const { upstreamId, systemFingerprint, serviceTier, choices } = event.chunk;
    assert.deepEqual([upstreamId, systemFingerprint, serviceTier], [cut, cut, cut]);
    assert.equal(choices[0]?.native_finish_reason, cut);
    for (const call of choices[0]?.delta.tool_calls ?? []) assert.equal(call.id, long);
  }
});

test('the id and the finish reason that a package returns are cut to 500 characters', async () => {
  const wire = wires.find(({ dialect }) => dialect === 'anthropic');
  assert.ok(wire !== undefined);
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: long, type: 'message', role: 'assistant', model: 'm', content: [], usage };
  const sent = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: long, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
  const bytes = [Buffer.from(sent.map((each) => sseEvent(JSON.stringify(each))).join(''))];
  const codec = await begin(wire);
  const decoder = codec.readStream({ read: (receiver) => receiver.take(bytes.shift() ?? null) }, null);
  const events: DecodedEvent[] = [];
  for (let next = await nextOf(decoder); next !== null; next = await nextOf(decoder)) events.push(...next);
  const chunks = events.flatMap((event) => (event.kind === 'chunk' ? [event.chunk] : []));
  assert.deepEqual([...new Set(chunks.map(({ upstreamId }) => upstreamId))], [cut]);
  assert.equal(chunks.at(-1)?.choices[0]?.native_finish_reason, cut);
});
