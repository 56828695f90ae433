import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { begins, delta, done, framed, hang, role, stop, streamHead, used } from '../chaos/faults/payloads.ts';
import { type Act, type FaultySite, startSite } from '../chaos/faults/wire.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { eventsOf, textOf } from '../harness/stream.ts';

let naru: TestGateway;
let site: FaultySite;
let act: Act = () => {};

before(async () => {
  site = await startSite((wire) => act(wire));
  naru = await startTestGateway({
    models: [{ id: 'test/m', upstreams: [`http://127.0.0.1:${site.port}/v1`] }],
    config: { limits: { stream_idle_timeout_ms: 60_000, keep_alive_comment_ms: 60_000 } },
  });
});
after(async () => {
  await naru.close();
  await site.close();
});

async function send(stream: boolean) {
  const { key } = await naru.account();
  const body = { model: 'test/m', messages: [{ role: 'user', content: 'hi' }], stream };
  const startedMs = performance.now();
  const response = await naru.send('POST', '/chat/completions', { key, body });
  assert.equal(response.status, 200, response.text);
  return { response, tookMs: performance.now() - startedMs };
}

for (const [name, end] of [
  ['silence', hang],
  [
    'comments',
    async (wire) => {
      for (;;) {
        await wire.send(framed(': alive\n\n'));
        await wire.wait(100);
      }
    },
  ],
] as const satisfies readonly (readonly [string, Act])[]) {
  test(`a finish with usage and ${name} instead of [DONE] ends the response after the grace, not the idle limit`, async () => {
    act = begins([role, delta({ content: 'hello' }), stop, used()], end);
    for (const stream of [true, false]) {
      const { response, tookMs } = await send(stream);
      assert.ok(tookMs > 900 && tookMs < 30_000, `${tookMs} ms`);
      const usage = stream ? eventsOf(response.text).at(-2)?.json.usage : response.json.usage;
      assert.equal(usage.completion_tokens, 5);
    }
  });
}

test('usage on every chunk does not end the response before the usage at its end', async () => {
  const early = { usage: { prompt_tokens: 10, completion_tokens: 1 } };
  act = async (wire) => {
    await wire.send(streamHead);
    await wire.send(framed(delta({ content: 'hello' }, null, early) + stop));
    await wire.wait(1_500);
    await wire.send(framed(used() + done));
    await wire.send('0\r\n\r\n');
  };
  const { response } = await send(true);
  assert.equal(textOf(eventsOf(response.text)), 'hello');
  assert.equal(eventsOf(response.text).at(-2)?.json.usage.completion_tokens, 5);
});
