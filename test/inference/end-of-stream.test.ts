import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  begins,
  delta,
  done,
  event,
  framed,
  hang,
  role,
  stop,
  streamHead,
  used,
} from '../chaos/faults/payloads.ts';
import { type Act, type FaultySite, startSite } from '../chaos/faults/wire.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
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

/** An event of `/completions`. */
function text(index: number, content: string, finish: string | null = null): string {
  const choices = [{ index, text: content, finish_reason: finish, logprobs: null }];
  return event({ id: 'up-1', object: 'text_completion', created: 1_795_219_200, model: 'm', choices });
}

/** Sends a list of two prompts, and returns the events and the debits. */
async function complete(then: Act) {
  const account = await naru.account();
  act = begins([text(0, 'one'), text(0, '', 'stop'), text(1, 'two')], then);
  const response = await naru.send('POST', '/completions', {
    key: account.key,
    body: { model: 'test/m', prompt: ['a', 'b'], stream: true },
  });
  return { events: eventsOf(response.text), debits: (await ledgerOf(naru, account)).debits };
}

test('a response to a list of prompts is complete when that of each prompt is', async () => {
  const { events, debits } = await complete(async (wire) => {
    await wire.wait(1_500);
    await wire.send(framed(text(1, ' more', 'stop') + used() + done));
    await wire.send('0\r\n\r\n');
  });
  const texts = events.flatMap(({ json }) => json?.choices ?? []).filter(({ index }) => index === 1);
  assert.equal(texts.map((choice: { text: string }) => choice.text).join(''), 'two more');
  assert.equal(events.at(-1)?.data, '[DONE]');
  assert.equal(debits.length, 1);
});

// spec:money/4.3
test('a connection that breaks before the last prompt of a list is answered fails the response', async () => {
  const { events, debits } = await complete((wire) => wire.fin());
  assert.equal(events.at(-2)?.json.error.metadata.error_type, 'provider_error');
  assert.deepEqual(debits, []);
});
