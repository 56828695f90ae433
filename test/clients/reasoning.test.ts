/**
 * A model's reasoning returns to an upstream that rejects a conversation without it, by every
 * client and in every field.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ClientWorld, clientModel, openClientWorld } from '../harness/client-world.ts';
import { reply, usage } from '../harness/upstream.ts';
import { openai, prompt, toolClients } from './tool-clients.ts';

let world: ClientWorld;
before(async () => {
  world = await openClientWorld();
});
after(async () => {
  await world?.close();
});

type Json = Readonly<Record<string, unknown>>;

/** In pieces that split words, lines and a grapheme cluster. */
const thoughts: readonly (readonly string[])[] = [
  ['사용자는 ', '"날씨"를\r\n', '묻는다.\t\\', ' 👩', '\u200d👧 e', '\u0301 \u2028', '  '],
  ['\n두 번째', ' <think>', '…</think> ', '\u0000 끝 '],
  ['이제 ', '답한다.'],
];
const last = thoughts.length - 1;

/** Fields in which upstreams send their reasoning, and require it back. */
const spoken = {
  reasoning_content: textual('reasoning_content'),
  reasoning: textual('reasoning'),
  reasoning_details: {
    streamed: (turn: number) => [
      ...pieces(turn).map((text) => ({ reasoning: text, reasoning_details: [entry(text)] })),
      { reasoning_details: [{ ...entry(undefined), signature: `c2ln${turn}==` }] },
      { reasoning_details: [encrypted(turn)] },
    ],
    whole: (turn: number) => ({ reasoning: textOf(turn), reasoning_details: entries(turn) }),
    isReturned: (message: Json, turn: number) =>
      JSON.stringify(sorted(message['reasoning_details'])) === JSON.stringify(sorted(entries(turn))),
  },
} as const;

function textual(field: string) {
  return {
    streamed: (turn: number): readonly object[] => pieces(turn).map((text) => ({ [field]: text })),
    whole: (turn: number): object => ({ [field]: textOf(turn) }),
    isReturned: (message: Json, turn: number): boolean => message[field] === textOf(turn),
  };
}

function pieces(turn: number): readonly string[] {
  return thoughts[turn] ?? [];
}

function textOf(turn: number): string {
  return pieces(turn).join('');
}

function entry(text: string | undefined): object {
  return {
    type: 'reasoning.text',
    ...(text === undefined ? {} : { text }),
    format: 'anthropic-claude-v1',
    index: 0,
  };
}

function encrypted(turn: number): object {
  const data = Buffer.from(`sealed ${turn}`).toString('base64');
  return { type: 'reasoning.encrypted', data, id: `rs_${turn}`, format: 'anthropic-claude-v1', index: 1 };
}

function entries(turn: number): readonly object[] {
  return [{ ...entry(textOf(turn)), signature: `c2ln${turn}==` }, encrypted(turn)];
}

/** Members of objects in the order of their names: a client may write them in another. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}

function callOf(turn: number): object {
  return {
    id: `call_${turn}`,
    type: 'function',
    function: { name: 'weather', arguments: `{"city":"Seoul${turn}"}` },
  };
}

/**
 * Reasons and calls a tool in each turn but the last; rejects, as DeepSeek does, messages with
 * calls that lack their reasoning.
 */
function insist(field: keyof typeof spoken, { streamsAlways = false } = {}): void {
  const { streamed, whole, isReturned } = spoken[field];
  world.upstream.respond(({ body }) => {
    const messages = body['messages'] as readonly Json[];
    const called = messages.filter((message) => Array.isArray(message['tool_calls']));
    if (called.some((message, turn) => !isReturned(message, turn))) {
      const message = `The \`${field}\` in the thinking mode must be passed back to the API.`;
      return reply.status(400, { error: { message, type: 'invalid_request_error', param: null } });
    }
    const turn = called.length;
    const calls = turn < last ? { tool_calls: [{ index: 0, ...callOf(turn) }] } : { content: '18도' };
    const finish = turn < last ? 'tool_calls' : 'stop';
    if (streamsAlways || body['stream'] === true)
      return reply.stream(
        [...streamed(turn), calls].map((delta) => ({ delta })),
        { finish },
      );
    const message = { role: 'assistant', content: null, ...whole(turn), ...calls };
    return reply.whole(null, { over: { choices: [{ index: 0, message, finish_reason: finish }] } });
  });
}

for (const { name, run, streams, lacks = [] } of toolClients) {
  describe(name, () => {
    for (const field of Object.keys(spoken) as (keyof typeof spoken)[]) {
      for (const stream of streams ? [false, true] : [false]) {
        const refused = lacks.includes(field);
        const what = `thoughts in ${field} ${refused ? 'are not returned' : 'go back byte for byte'}`;
        test(`${what}, ${stream ? 'streamed' : 'whole'}`, async () => {
          const { key } = await world.payer({ credit: '1000000' });
          insist(field);
          const setting = { url: world.url, key, model: clientModel };
          if (refused) await assert.rejects(run(setting, stream));
          else assert.equal(await run(setting, stream), '18도');
        });
      }
    }
  });
}

for (const field of Object.keys(spoken) as (keyof typeof spoken)[]) {
  test(`reasoning in ${field} of an upstream that streams without a request for it is returned byte for byte`, async () => {
    const { key } = await world.payer({ credit: '1000000' });
    insist(field, { streamsAlways: true });
    const setting = { url: world.url, key, model: clientModel };
    assert.equal(await openai(['reasoning_details']).run(setting, false), '18도');
  });
}

for (const stream of [false, true]) {
  test(`a client that excludes reasoning gets none and pays for it, ${stream ? 'streamed' : 'whole'}`, async () => {
    for (const parameters of [{ reasoning: { exclude: true } }, { include_reasoning: false }]) {
      const payer = await world.payer();
      const pieces = [{ reasoning: '흠.' }, { delta: { reasoning_content: '흠.', content: 'a' } }, 'b'];
      world.upstream.next(
        stream
          ? reply.stream(pieces, {
              usage: usage(10, 50, { completion_tokens_details: { reasoning_tokens: 40 } }),
            })
          : reply.whole('ab', { reasoning: '흠.', usage: usage(10, 50) }),
      );
      const body = {
        model: clientModel,
        messages: [{ role: 'user', content: prompt }],
        stream,
        ...parameters,
      };
      const response = await world.naru.send('POST', '/chat/completions', { key: payer.key, body });
      assert.equal(response.status, 200, response.text);
      assert.doesNotMatch(response.text, /흠|reasoning_content|reasoning_details/);
      const sent = stream
        ? [...response.text.matchAll(/"content":"([^"]+)"/g)].map(([, text]) => text).join('')
        : response.json.choices[0].message.content;
      assert.equal(sent, 'ab');
      await payer.charged(110);
    }
  });
}
