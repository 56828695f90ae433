/**
 * What the gateway keeps of a stream is bounded by its size, whatever the stream is made of: events
 * before the first content, and all events of a response that is sent to the client as a whole.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { countTexts } from '../../src/metering/count-tokens.ts';
import {
  delta,
  done,
  event,
  framed,
  lastChunk,
  role,
  stop,
  streamHead,
  used,
  response as whole,
} from '../chaos/faults/payloads.ts';
import { type Act, type FaultySite, startSite } from '../chaos/faults/wire.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { assertError } from '../harness/response-rules.ts';
import { until } from '../harness/until.ts';
import { gate } from '../harness/upstream.ts';

const mb = 1_000_000;
/** An event of an upstream has at most 16 Mi units. */
const large = 'x'.repeat(15 * mb);
/** Less than is allowed for a whole response, which is 64 MiB, and more than the budget. */
const fewEvents = 4;
/** More than is allowed for a whole response. */
const manyEvents = 6;

let naru: TestGateway;
let small: TestGateway;
let site: FaultySite;
let act: Act = () => {};

before(async () => {
  site = await startSite((wire) => act(wire));
  const models = [{ id: 'test/m', upstreams: [`http://127.0.0.1:${site.port}/v1`] }];
  naru = await startTestGateway({ models, config: { limits: { memory_bytes: 1_000 * mb } } });
  small = await startTestGateway({ models, config: { limits: { memory_bytes: 50 * mb, body_bytes: mb } } });
});
after(async () => {
  await naru.close();
  await small.close();
  await site.close();
});

/** Sends an event a number of times, then the end of an ordinary stream. */
function repeats(bytes: string, times: number): Act {
  const piece = framed(bytes);
  return async (wire) => {
    await wire.send(streamHead);
    for (let n = 0; n < times; n += 1) await wire.send(piece);
    await wire.send(framed(delta({ content: 'hello' }) + stop + used() + done));
    await wire.send(lastChunk);
  };
}

async function send(gateway: TestGateway, stream: boolean) {
  const { key } = await gateway.account({ credit: '1000000' });
  gateway.gateway.health.keepOnly(new Set());
  const body = { model: 'test/m', messages: [{ role: 'user', content: 'hi' }], stream };
  const response = await gateway.send('POST', '/chat/completions', { key, body });
  return { response, length: response.text.length };
}

/** Fails with few words: the text of a response may be as large as all events. */
async function assertFails(gateway: TestGateway, stream: boolean, status: number, type: string) {
  const { response, length } = await send(gateway, stream);
  assert.deepEqual([response.status, length < mb], [status, true], `${length} units`);
  assertError(response, status, type);
}

const logprobs = (text: string) =>
  event({ choices: [{ index: 0, delta: {}, logprobs: { content: [text] } }] });

const withoutContent = {
  ids: event({ id: large, choices: [] }),
  'log probabilities': logprobs(large),
  'native finish reasons': event({ choices: [{ index: 0, delta: {}, native_finish_reason: large }] }),
  usage: event({ choices: [], usage: { prompt_tokens: large } }),
};
for (const [name, bytes] of Object.entries(withoutContent)) {
  test(`a stream of large ${name} before its content fails like a whole response that is too large`, async () => {
    act = repeats(bytes, manyEvents);
    for (const stream of [true, false]) await assertFails(naru, stream, 502, 'provider_error');
  });
}

const withContent = {
  annotations: delta({ content: 'a', annotations: [large] }),
  'reasoning details': delta({
    content: 'a',
    reasoning_details: [{ type: 'reasoning.encrypted', data: large }],
  }),
  'log probabilities': delta({ content: 'a' }).replace(
    '"finish_reason"',
    `"logprobs":{"content":["${large}"]},"finish_reason"`,
  ),
};
const withMany = {
  'lists of nothing': delta({ content: 'a', annotations: [Array(300_000).fill({})] }),
  annotations: delta({ content: 'a', annotations: Array(40_000).fill(0) }),
};
for (const [name, bytes] of Object.entries({ ...withContent, ...withMany })) {
  test(`a whole response whose stream has large ${name} beside little text fails when it is too large`, async () => {
    act = repeats(bytes, manyEvents);
    await assertFails(naru, false, 502, 'provider_error');
  });
}

test('what is kept of a stream counts against the memory budget until it is sent or dropped', async () => {
  for (const [bytes, stream] of [
    [logprobs(large), true],
    [withContent.annotations, false],
  ] as const) {
    act = repeats(bytes, fewEvents);
    assert.equal((await send(naru, stream)).response.status, 200);
    await assertFails(small, stream, 503, 'model_loading');
  }
  for (const { metric } of [naru, small])
    await until('the release of the memory', async () => (await metric('naru_held_bytes')) === 0);
});

test('a stream that is relayed no longer holds what came before its content', async () => {
  const content = gate();
  const end = gate();
  act = async (wire) => {
    await wire.send(streamHead);
    await wire.send(framed(logprobs(large)));
    await content.opened;
    await wire.send(framed(role + delta({ content: 'hello' })));
    await end.opened;
    await wire.send(framed(stop + used() + done));
    await wire.send(lastChunk);
  };
  const sent = send(naru, true);
  const held = () => naru.metric('naru_held_bytes');
  await until('the event is held', async () => (await held()) >= large.length);
  content.open();
  await until('the event is released', async () => (await held()) < mb);
  end.open();
  assert.equal((await sent).response.status, 200);
});

test('an event of more lines than any has fails its stream, and its lines count until then', async () => {
  const held = gate();
  const sent = gate();
  act = async (wire) => {
    await wire.send(streamHead);
    await wire.send(framed(`data: {"a":"${large}"\n${'data\n'.repeat(9_000)}`));
    sent.open();
    await held.opened;
    await wire.send(framed('data\n'.repeat(2_000)));
    await wire.hang();
  };
  const failing = assertFails(naru, true, 502, 'provider_error');
  await sent.opened;
  await until('the event is held', async () => (await naru.metric('naru_held_bytes')) > large.length);
  held.open();
  await failing;
  await until('the event is released', async () => (await naru.metric('naru_held_bytes')) === 0);
});

const emptyCalls = (calls: number, member: string) =>
  JSON.stringify({ choices: [{ index: 0, [member]: { tool_calls: Array(calls).fill({}) } }] });

test('a response has at most 1,024 tool calls, in one event, in many, or as a whole', async () => {
  const [most, more] = [1_024, 1_025];
  const named = (index: number) =>
    delta({ tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: '{}' } }] });
  for (const stream of [true, false]) {
    act = repeats(`data: ${emptyCalls(more, 'delta')}\n\n`, 1);
    await assertFails(naru, stream, 502, 'provider_error');
    act = repeats(`data: ${emptyCalls(most, 'delta')}\n\n`, 1);
    assert.equal((await send(naru, stream)).response.status, 200);
  }
  act = repeats(Array.from({ length: more }, (_, n) => named(n)).join(''), 1);
  await assertFails(naru, false, 502, 'provider_error');
  const { response } = await send(naru, true);
  const last = response.text.trim().split('\n\n').at(-2) ?? '';
  assert.match(last, /"finish_reason":"error".*"error_type":"provider_error"/);
  assert.equal(response.text.match(/"name":"f"/g)?.length, most);
  for (const [calls, status] of [
    [more, 502],
    [most, 200],
  ] as const) {
    act = async (wire) => wire.send(whole(emptyCalls(calls, 'message')));
    assert.equal((await send(naru, false)).response.status, status, `${calls} calls`);
  }
});

test('long text without usage is counted as it passes, and no memory is held for it', async () => {
  const words = 'The ferry crosses the river. '.repeat(2_000);
  act = async (wire) => {
    await wire.send(streamHead);
    for (let n = 0; n < 10; n += 1)
      for (const member of ['content', 'reasoning', 'refusal'])
        await wire.send(framed(delta({ [member]: words })));
    await wire.send(framed(stop + done));
    await wire.send(lastChunk);
  };
  const { response } = await send(naru, true);
  const [, completion] = /"completion_tokens":(\d+)/.exec(response.text) ?? [];
  const exact = await countTexts([words.repeat(30)]);
  assert.equal(Number(completion), exact);
});
