import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ledgerOf, numberOf } from '../harness/read-ledger.ts';
import type { WireResponse } from '../harness/wire.ts';
import { requestWire as send, understoodStream, weather } from '../harness/wire-request.ts';
import { openWireWorld, type WireWorld, wireModel, wires } from '../harness/wire-world.ts';
import { judge } from '../providers/judge.ts';

const hello: WireResponse = { blocks: [{ text: ['Hel', 'lo, ', '안녕'] }] };
const messages = [{ role: 'user', content: 'Say hello in two languages, please.' }];

for (const wire of wires) {
  describe(wire.dialect, () => {
    let world: WireWorld;
    before(async () => {
      world = await openWireWorld(wire);
    });
    after(() => world.close());

    test('concurrent responses do not mix', async () => {
      const { naru, upstream } = world;
      const account = await naru.account({ credit: '100000000' });
      const tags = Array.from({ length: 20 }, (_, n) => `tag-${n}-`);
      upstream.respond(({ raw }) => {
        const [tag = 'none'] = /tag-\d+-/.exec(raw.toString()) ?? [];
        return wire.responds({ blocks: [{ text: [...tag] }] }).drip(40, 0);
      });
      const texts = await Promise.all(
        tags.map(async (tag, n) => {
          const output = { messages: [{ role: 'user', content: `Repeat ${tag}` }], stream: n % 2 === 0 };
          return (await send(world, account.key, output)).text;
        }),
      );
      assert.deepEqual(texts, tags);
    });

    for (const stream of [false, true]) {
      const how = stream ? 'streamed' : 'whole';

      test(`a ${how} response is relayed and billed`, async () => {
        const { naru, upstream } = world;
        const account = await naru.account();
        upstream.next(wire.responds(hello));
        const { text, usage, choice } = await send(world, account.key, { messages, stream });
        assert.equal(text, 'Hello, 안녕');
        assert.equal(choice.finish_reason, 'stop');
        assert.equal(usage.prompt_tokens, 12);
        assert.equal(usage.completion_tokens, 7);
        assert.equal(usage.cost, 26);
        const ledger = await ledgerOf(naru, account);
        assert.deepEqual(ledger.debits.map(numberOf), [26]);
        assert.equal(ledger.records.length, 1);
      });

      test(`a tool call is returned ${how}, and its result is sent`, async () => {
        const { naru, upstream } = world;
        const account = await naru.account();
        const call = { id: 'call_01', name: 'weather', args: ['{"city":', '"서울"}'] };
        upstream.next(
          wire.responds({ blocks: [{ text: ['Looking.'] }, { call }], stop: 'tools' }),
          wire.responds(hello),
        );
        const first = await send(world, account.key, { messages, stream, tools: [weather] });
        assert.equal(first.choice.finish_reason, 'tool_calls');
        assert.equal(first.calls.length, 1);
        const [made] = first.calls;
        assert.equal(made?.function.name, 'weather');
        assert.deepEqual(JSON.parse(made?.function.arguments ?? ''), { city: '서울' });
        const result = { role: 'tool', tool_call_id: made?.id, content: '21 degrees' };
        const assistant = { role: 'assistant', content: first.text, tool_calls: first.calls };
        const second = await send(world, account.key, {
          messages: [...messages, assistant, result],
          stream,
          tools: [weather],
        });
        assert.equal(second.text, 'Hello, 안녕');
        const sent = JSON.stringify(upstream.requests.at(-1)?.body);
        assert.match(sent, /21 degrees/);
        assert.match(sent, new RegExp(String(made?.id)));
      });

      test(`a call without arguments has the arguments {} ${how}`, async () => {
        const { naru, upstream } = world;
        const account = await naru.account();
        upstream.next(
          wire.responds({ blocks: [{ call: { id: 'call_01', name: 'weather', args: [] } }], stop: 'tools' }),
        );
        const { calls } = await send(world, account.key, { messages, stream, tools: [weather] });
        assert.deepEqual(
          calls.map(({ function: { arguments: args } }) => args),
          ['{}'],
        );
      });

      test(`a structured response is text, also where a tool produces it ${how}`, async () => {
        const { naru, upstream } = world;
        const account = await naru.account();
        const schema = { type: 'object', properties: { celsius: { type: 'number' } } };
        const json = ['{"celsius":', '21}'];
        upstream.next(
          wire.dialect === 'bedrock'
            ? wire.responds({
                blocks: [{ call: { id: 'call_01', name: 'json', args: json } }],
                stop: 'tools',
              })
            : wire.responds({ blocks: [{ text: json }] }),
        );
        const { text, calls, choice } = await send(world, account.key, {
          messages,
          stream,
          response_format: { type: 'json_schema', json_schema: { name: 'weather', schema } },
        });
        assert.deepEqual(JSON.parse(text), { celsius: 21 });
        assert.deepEqual([calls.length, choice.finish_reason], [0, 'stop']);
      });

      test(`a text is continued with ${how}`, async () => {
        const { naru, upstream } = world;
        const account = await naru.account();
        upstream.next(wire.responds(hello));
        const body = { model: wireModel, prompt: 'Once upon a time', stream };
        const response = await naru.send('POST', '/completions', { key: account.key, body });
        assert.equal(response.status, 200, response.text);
        const text = stream ? understoodStream(response.text).text : response.json.choices[0].text;
        assert.equal(text, 'Hello, 안녕');
        assert.equal((await ledgerOf(naru, account)).debits.length, 1);
      });

      test(`cached tokens are counted and billed at their price ${how}`, async () => {
        const { naru, upstream } = world;
        const account = await naru.account();
        const writes = wire.dialect === 'google' ? {} : { cacheWrite: 8 };
        upstream.next(
          wire.responds({ ...hello, usage: { prompt: 40, completion: 7, cacheRead: 20, ...writes } }),
        );
        const { usage } = await send(world, account.key, { messages, stream });
        assert.equal(usage.prompt_tokens, 40);
        assert.equal(usage.prompt_tokens_details.cached_tokens, 20);
        assert.equal(usage.prompt_tokens_details.cache_write_tokens, writes.cacheWrite ?? 0);
        const cost = wire.dialect === 'google' ? 20 + 20 * 0.1 + 14 : 12 + 20 * 0.1 + 8 * 1.25 + 14;
        assert.equal(usage.cost, cost);
        assert.deepEqual((await ledgerOf(naru, account)).debits.map(numberOf), [cost]);
      });

      // spec:money/2.8, spec:money/4.14, spec:money/4.15
      test(`a dearer service is requested and billed as the upstream reports it ${how}`, async () => {
        const { naru, upstream } = world;
        const account = await naru.account();
        const api = wire.dialect;
        const writes = api === 'google' ? {} : { cacheWrite: 8, cacheWrite1h: 6 };
        const [ordinary, priority] =
          api === 'google'
            ? [40 + 10, 40 * 3 + 30]
            : [32 + 2 * 1.25 + 6 * 2 + 10, 32 * 3 + 2 * 4 + 6 * 5 + 30];
        const cache_control = { type: 'ephemeral', ttl: '1h' };
        const system = { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control }] };
        const body = { stream, service_tier: 'priority', messages: [system, ...messages] };
        for (const [tier, cost] of [
          ['default', ordinary],
          ['priority', priority],
          ['batch', ordinary],
        ] as const) {
          upstream.next(wire.responds({ ...hello, usage: { prompt: 40, completion: 5, ...writes, tier } }));
          assert.equal((await send(world, account.key, body)).usage.cost, cost, tier);
        }
        const sent = upstream.requests.at(-1)?.raw.toString() ?? '';
        assert.equal(judge(api, sent), null);
        const requests = {
          anthropic: /"service_tier":"auto"/,
          bedrock: /"serviceTier":\{"type":"priority"\}/,
        };
        if (api === 'google') assert.doesNotMatch(sent, /priority/);
        else assert.ok(requests[api].test(sent) && sent.includes('"ttl":"1h"'), sent);
        const ledger = await ledgerOf(naru, account);
        assert.deepEqual(ledger.debits.map(numberOf), [ordinary, priority, ordinary]);
        const records = await naru.database.query<{ tier: string | null }>(
          "SELECT (detail->'billed_tier')::text AS tier FROM generation WHERE account_id = $1 ORDER BY id",
          [account.accountId],
        );
        assert.deepEqual(
          records.map(({ tier }) => tier),
          [null, '"priority"', 'null'],
        );
        assert.deepEqual((await naru.operator.verifyLedger()).differences, []);
      });

      test(`a truncated or filtered response has its finish reason ${how}`, async () => {
        const { naru, upstream } = world;
        const account = await naru.account();
        upstream.next(
          wire.responds({ ...hello, stop: 'length' }),
          wire.responds({ ...hello, stop: 'filter' }),
        );
        const short = await send(world, account.key, { messages, stream });
        const held = await send(world, account.key, { messages, stream });
        assert.equal(short.choice.finish_reason, 'length');
        assert.equal(held.choice.finish_reason, 'content_filter');
        assert.ok(held.choice.native_finish_reason);
      });
    }
  });
}
