import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEvent, readWhole } from '../../src/dialects/openai/read.ts';

/* Mistral sends its reasoning as parts of the content. */

const thinking = (text: string): object => ({ type: 'thinking', thinking: [{ type: 'text', text }] });

function deltaOf(received: ReturnType<typeof readWhole>) {
  assert.equal(received.kind, 'chunk');
  return received.kind === 'chunk' ? received.chunk.choices[0]?.delta : undefined;
}

test('reasoning among the parts of a content is reasoning, as JSON and streamed', () => {
  const content = [thinking('Hm, '), thinking('Seoul.'), { type: 'text', text: '18' }];
  const expected = {
    content: '18',
    reasoning: 'Hm, Seoul.',
    reasoning_details: [{ type: 'reasoning.text', text: 'Hm, Seoul.', format: 'unknown', index: 0 }],
  };
  const message = { role: 'assistant', content };
  assert.deepEqual(
    deltaOf(readWhole('chat', JSON.stringify({ choices: [{ index: 0, message }] }))),
    expected,
  );
  const event = { choices: [{ index: 0, delta: { content }, finish_reason: null }] };
  assert.deepEqual(deltaOf(readEvent('chat', JSON.stringify(event))), expected);
});

test('a malformed part, or a malformed reasoning part, has no content', () => {
  for (const odd of [
    { type: 'thinking' },
    { type: 'thinking', thinking: [null, { text: 7 }] },
    null,
    'x',
    5,
  ]) {
    const message = { role: 'assistant', content: [odd, { type: 'text', text: 'a' }] };
    const event = readWhole('chat', JSON.stringify({ choices: [{ index: 0, message }] }));
    assert.deepEqual(deltaOf(event), { content: 'a' });
  }
});
