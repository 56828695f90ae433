/**
 * What the gateway keeps of a stream is bounded by its size, whatever the stream is made of: events
 * before the first content, and all events of a response that is sent to the client as a whole.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
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
for (const [name, bytes] of Object.entries(withContent)) {
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
