/** What is odd about the streams of one upstream only. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anthropicWire } from '../harness/wire-anthropic.ts';
import { bedrockWire, frame } from '../harness/wire-bedrock.ts';
import { googleWire } from '../harness/wire-google.ts';
import { listen, streamOf } from '../harness/wire-listen.ts';

const response = { blocks: [{ text: ['Hel', 'lo'] }] };
const sse = (event: { readonly type?: string; readonly [member: string]: unknown }): Buffer =>
  Buffer.from(
    `${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`,
  );

test('Anthropic: an unknown event type is skipped, an invalid known one is not', async () => {
  const stream = streamOf(anthropicWire, response);
  const whole = await listen(anthropicWire, [stream]);
  const at = stream.indexOf('event: content_block_delta');
  const among = (extra: Buffer): Buffer[] => [stream.subarray(0, at), extra, stream.subarray(at)];
  assert.deepEqual(await listen(anthropicWire, among(sse({ type: 'weather_report' }))), whole);
  const wrong = await listen(anthropicWire, among(sse({ type: 'content_block_delta' })));
  assert.match(wrong.failed ?? '', /in an unknown format/);
  const odd = await listen(anthropicWire, among(Buffer.from('data: {"type":\n\n')));
  assert.match(odd.failed ?? '', /in an unknown format/);
});

test('Google: a response that is to be continued ends, and no further request is sent', async () => {
  const stream = streamOf(googleWire, response);
  const read = await listen(googleWire, [
    Buffer.from(
      stream
        .toString()
        .replace('"finishReason":"STOP"', '"finishReason":"CONTINUATION","continuationToken":"t"'),
    ),
  ]);
  assert.deepEqual([read.text, read.finish, read.done, read.failed], ['Hello', 'length', true, null]);
});

test('Google: a blocked prompt is a filtered response', async () => {
  const blocked = {
    promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
    usageMetadata: { promptTokenCount: 12 },
  };
  const read = await listen(googleWire, [sse(blocked)]);
  assert.deepEqual([read.text, read.finish, read.failed], ['', 'content_filter', null]);
});

test('Google: an image made by the model is dropped and named', async () => {
  const parts = [{ inlineData: { mimeType: 'image/png', data: 'aW1n' } }];
  const read = await listen(googleWire, [
    sse({ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }),
  ]);
  assert.deepEqual(read.dropped, ['file']);
});

test('Bedrock: an unknown frame type is skipped, a broken frame is not', async () => {
  const stream = streamOf(bedrockWire, response);
  const whole = await listen(bedrockWire, [stream]);
  assert.deepEqual(await listen(bedrockWire, [frame('event', 'weatherReport', { a: 1 }), stream]), whole);
  const broken = frame('event', 'contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'x' } });
  broken[broken.length - 1] = (broken.at(-1) ?? 0) ^ 0xff;
  assert.match((await listen(bedrockWire, [broken, stream])).failed ?? '', /checksum/i);
  assert.notEqual((await listen(bedrockWire, [Buffer.alloc(64), stream])).failed, null);
});
