/** spec:api/6.16: the calls of a key that is revoked or suspended go on, unless an operator ends them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestGateway, type TestGateway, type TestResponse } from '../harness/gateway.ts';
import { until } from '../harness/until.ts';
import { reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';

let upstream: Upstream;
let one: TestGateway;
let other: TestGateway;
const models = (): { id: string; upstreams: string[] }[] => [{ id: 'test/echo', upstreams: [upstream.url] }];

before(async () => {
  upstream = await startUpstream();
  one = await startTestGateway({ models: models() });
  other = await startTestGateway({ models: models(), beside: one });
});
after(async () => {
  await other?.close();
  await one?.close();
  await upstream?.close();
});

function begin(node: TestGateway, key: string, stream: boolean, waitMs: number): Promise<TestResponse> {
  const pieces = ['one ', 'two ', { waitMs }, 'three '];
  upstream.next(
    stream
      ? reply.stream(pieces, { usage: usage(10, 3) })
      : reply.chat('whole', { usage: usage(10, 1) }).waitAt(0, waitMs),
  );
  const body = { model: 'test/echo', stream, messages: [{ role: 'user', content: 'hi' }] };
  return node.send('POST', '/chat/completions', { key, body });
}

const ways = {
  revoke: (hash: string, endsCalls: boolean) => one.operator.revokeKey(hash as never, null, endsCalls),
  suspend: (hash: string, endsCalls: boolean) =>
    one.operator.suspendKey({ hash: hash as never, suspended: true, reason: null, endsCalls }),
} as const;

for (const [way, [code, type]] of Object.entries({
  revoke: [401, 'invalid_api_key'],
  suspend: [403, 'key_suspended'],
} as const)) {
  test(`${way}: what runs on any node goes on, or ends as cancelled and is billed`, async () => {
    for (const endsCalls of [false, true]) {
      const { key, hash, accountId } = await one.account();
      const bystander = await one.account();
      const calls: Promise<TestResponse>[] = [];
      for (const [node, payer, stream] of [
        [one, key, true],
        [other, key, true],
        [one, key, false],
        [other, bystander.key, true],
      ] as const) {
        const { length } = upstream.requests;
        // What is not ended goes on for a while; what is would last for minutes.
        calls.push(begin(node, payer, stream, endsCalls && payer === key ? 120_000 : 1_500));
        await until('it is called', () => upstream.requests.length > length);
      }
      await ways[way as keyof typeof ways](hash, endsCalls);
      const [here, there, whole, unconcerned] = await Promise.all(calls);
      assert.match(unconcerned?.text ?? '', /three[\s\S]*\[DONE\]/);
      for (const stream of [here, there]) {
        assert.equal(stream?.status, 200);
        assert.match(stream?.text ?? '', /one[\s\S]*\[DONE\]\n\n$/);
        const error = new RegExp(`"code":${code}[\\s\\S]*"error_type":"${type}"`);
        if (endsCalls) assert.match(stream?.text ?? '', error);
        else assert.match(stream?.text ?? '', /three/);
      }
      assert.equal(whole?.status, endsCalls ? code : 200);
      if (endsCalls) assert.doesNotMatch(here?.text ?? '', /three/);
      await Promise.all([one.settled(), other.settled()]);
      const rows = await one.database.query<{ cost: bigint; cancelled: boolean; status: number }>(
        `SELECT cost, (detail->>'cancelled')::boolean AS cancelled, status FROM generation
         WHERE account_id = $1 ORDER BY cost`,
        [accountId],
      );
      const billed = rows.map(({ cost, cancelled, status }) => [cost > 0n, cancelled, status]);
      assert.deepEqual(
        billed,
        endsCalls
          ? [
              [false, false, code],
              [true, true, 200],
              [true, true, 200],
            ]
          : Array(3).fill([true, false, 200]),
      );
    }
    assert.deepEqual((await one.operator.verifyLedger()).differences, []);
  });
}
