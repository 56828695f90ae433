import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ToolCalls } from '../../src/inference/tool-calls.ts';
import type { ResponseChunk, ToolCallDelta } from '../../src/wire/chat.ts';

function chunk(choice: number, ...calls: readonly ToolCallDelta[]): ResponseChunk {
  const delta = calls.length === 0 ? { content: 'x' } : { tool_calls: calls };
  return {
    choices: [{ index: choice, delta, finish_reason: null, native_finish_reason: null, logprobs: null }],
    usage: null,
    upstreamId: null,
    systemFingerprint: null,
    serviceTier: null,
  };
}

const call = (index: number, id: string | null, name: string | null, args: string): ToolCallDelta => ({
  index,
  ...(id === null ? {} : { id, type: 'function' }),
  function: { ...(name === null ? {} : { name }), arguments: args },
});

/** Index, id, name and arguments of the output. */
function emitted(calls: ToolCalls, choice: number, ...given: readonly ToolCallDelta[]): readonly unknown[] {
  const [first] = calls.ordered(chunk(choice, ...given)).choices;
  return (first?.delta.tool_calls ?? []).map((each) => [
    each.index,
    each.id ?? null,
    each.function.name ?? null,
    each.function.arguments,
  ]);
}

test('well-formed calls pass unchanged, in any order', () => {
  const calls = new ToolCalls('gen-0');
  assert.deepEqual(emitted(calls, 0, call(0, 'a', 'f', ''), call(1, 'b', 'g', '')), [
    [0, 'a', 'f', ''],
    [1, 'b', 'g', ''],
  ]);
  assert.deepEqual(emitted(calls, 0, call(1, null, null, '{}')), [[1, null, null, '{}']]);
  assert.deepEqual(emitted(calls, 0, call(0, null, null, '{"x":1}')), [[0, null, null, '{"x":1}']]);
});

test('a chunk without calls is returned as the same object', () => {
  const words = chunk(0);
  assert.equal(new ToolCalls(null).ordered(words), words);
});

test('a call without an id gets one at its start only, and each choice has its own', () => {
  const calls = new ToolCalls('gen-1');
  assert.deepEqual(emitted(calls, 0, call(0, null, 'f', '')), [[0, 'call_gen-1_0', 'f', '']]);
  assert.deepEqual(emitted(calls, 0, call(0, null, null, '{}')), [[0, null, null, '{}']]);
  assert.deepEqual(emitted(calls, 1, call(0, null, 'f', '')), [[0, 'call_gen-1_1_0', 'f', '']]);
});

test('a call that starts at the index of another is another call', () => {
  const calls = new ToolCalls('g');
  assert.deepEqual(emitted(calls, 0, call(0, 'a', 'f', '{}')), [[0, 'a', 'f', '{}']]);
  assert.deepEqual(emitted(calls, 0, call(0, 'b', 'f', '{"y"')), [[1, 'b', 'f', '{"y"']]);
  assert.deepEqual(emitted(calls, 0, call(0, null, null, ':2}')), [[1, null, null, ':2}']]);
  assert.deepEqual(emitted(calls, 0, call(0, null, 'f', '{}')), [[2, 'call_g_2', 'f', '{}']]);
});

test('an id and a name that repeat with each part are sent once', () => {
  const calls = new ToolCalls(null);
  assert.deepEqual(emitted(calls, 0, call(0, 'a', 'f', '{"x"')), [[0, 'a', 'f', '{"x"']]);
  assert.deepEqual(emitted(calls, 0, call(0, 'a', 'f', ':1}')), [[0, null, null, ':1}']]);
  assert.deepEqual(emitted(new ToolCalls(null), 0, call(0, null, 'f', '{"x"')), [[0, null, 'f', '{"x"']]);
});

test('a name that comes after the start of its call is passed on, once', () => {
  const calls = new ToolCalls(null);
  assert.deepEqual(emitted(calls, 0, call(0, 'a', null, '')), [[0, 'a', null, '']]);
  assert.deepEqual(emitted(calls, 0, call(0, null, null, '{"x"')), [[0, null, null, '{"x"']]);
  assert.deepEqual(emitted(calls, 0, call(0, null, 'f', ':')), [[0, null, 'f', ':']]);
  assert.deepEqual(emitted(calls, 0, call(0, null, 'f', '1')), [[0, null, null, '1']]);
  assert.deepEqual(emitted(calls, 0, call(0, 'a', 'f', '}')), [[0, null, null, '}']]);
});

test('a name after the complete arguments of a call without one is its name, unless it brings arguments', () => {
  const calls = new ToolCalls(null);
  emitted(calls, 0, call(0, 'a', null, '{}'));
  assert.deepEqual(emitted(calls, 0, call(0, null, 'f', '')), [[0, null, 'f', '']]);
  assert.deepEqual(emitted(calls, 0, call(0, null, 'g', '')), [[1, null, 'g', '']]);
  emitted(calls, 0, call(1, 'b', null, '{}'));
  assert.deepEqual(emitted(calls, 0, call(1, null, 'f', '{}')), [[3, null, 'f', '{}']]);
});

/** With work for each delta that grows with the arguments so far, these would take minutes. */
const manyDeltas = 10_000;
const longArguments = `{"a":"${'x'.repeat(8_000_000)}"`;

test('calls that repeat their name are told apart in one pass over their arguments', () => {
  for (const [first, rest] of [
    [`${longArguments}}`, 'x'],
    [longArguments, ' '],
    [longArguments, ''],
    [`1.${'1'.repeat(8_000_000)}e`, 'e'],
  ] as const) {
    const calls = new ToolCalls(null);
    emitted(calls, 0, call(0, null, 'f', first));
    emitted(calls, 0, call(0, null, null, rest));
    const begun = Array.from({ length: manyDeltas }, () => emitted(calls, 0, call(0, null, 'f', rest)));
    assert.deepEqual(begun.at(-1), [[0, null, null, rest]]);
  }
});

test('a name after complete arguments begins another call, however the arguments were divided', () => {
  for (const args of ['{"a":"}\\"{"}', '[1,{"b":[]}] ', '"s"', '12', '-1.5e3', 'true', 'null']) {
    for (let at = 0; at <= args.length; at += 1) {
      const calls = new ToolCalls(null);
      emitted(calls, 0, call(0, null, 'f', args.slice(0, at)));
      emitted(calls, 0, call(0, null, null, args.slice(at)));
      assert.deepEqual(emitted(calls, 0, call(0, null, 'g', '{}')), [[1, null, 'g', '{}']], args);
    }
  }
});

test('a name after arguments that are not one value continues the call', () => {
  for (const args of [
    '',
    ' ',
    '{"a":1',
    '{}{}',
    '{a}',
    '{"a":1,}',
    '[1',
    '"s',
    'tru',
    '-',
    '1e',
    '01',
    '{}x',
  ]) {
    const calls = new ToolCalls(null);
    emitted(calls, 0, call(0, null, 'f', args));
    assert.deepEqual(emitted(calls, 0, call(0, null, 'g', '1')), [[0, null, null, '1']], args);
  }
});
