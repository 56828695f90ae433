import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cutAtStop } from '../../src/dialects/openai/cut-at-stop.ts';
import type { ResponseChunk } from '../../src/wire/chat.ts';
import { testSeed } from '../harness/tier.ts';

function chunkOf(content: string, isLast: boolean): ResponseChunk {
  const reason = isLast ? 'stop' : null;
  const choice = {
    index: 0,
    delta: { content },
    finish_reason: reason,
    native_finish_reason: reason,
  } as const;
  const choices = [{ ...choice, logprobs: null }];
  return { choices, usage: null, upstreamId: null, systemFingerprint: null, serviceTier: null };
}

/** An engine generates one character after the other, and stops when a sequence is complete. */
function stoppedText(text: string, stops: readonly string[]): string {
  for (let end = 1; end <= text.length; end += 1) {
    const found = stops.filter((stop) => text.slice(0, end).endsWith(stop));
    if (found.length > 0) return text.slice(0, end - Math.max(...found.map(({ length }) => length)));
  }
  return text;
}

test('a text ends before the stop sequence that is complete first, however it is split', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 12 });
  const stops = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '\n'), minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 3,
  });
  fc.assert(
    fc.property(fc.array(text), stops, (pieces, all) => {
      const cut = cutAtStop(all);
      const chunks = pieces.map((piece, at) => cut(chunkOf(piece, at === pieces.length - 1)));
      const relayed = chunks.map(({ choices }) => choices[0]?.delta.content).join('');
      assert.equal(relayed, stoppedText(pieces.join(''), all));
    }),
    { seed: testSeed },
  );
});
