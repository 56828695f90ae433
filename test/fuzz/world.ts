import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startTestGateway, type TestAccount, type TestGateway, testPrice } from '../harness/gateway.ts';
import { manager } from '../harness/management.ts';
import { until } from '../harness/until.ts';
import { oddUsages, piece, reply, startUpstream, type Upstream, usage } from '../harness/upstream.ts';
import type { UpstreamRequest } from '../harness/upstream-openai.ts';
import type { Reply } from '../harness/upstream-reply.ts';

/** A gateway to be fuzzed, its upstream, and credentials of every standing. */
export interface World {
  readonly naru: TestGateway;
  readonly upstream: Upstream;
  /** The payer of successful requests. */
  readonly payer: TestAccount;
  /** A management key of the payer; the fuzzer never uses it. */
  readonly steward: string;
  /** The `Authorization` value of each kind of credential; null sends none. */
  readonly credentials: ReadonlyMap<string, string | null>;
  /** Hashes of keys that the management key may read, change and revoke. */
  readonly ownHashes: readonly string[];
  /** Hashes that it may not. */
  readonly foreignHashes: readonly string[];
  close(): Promise<void>;
}

/** Models whose upstreams fail on purpose; requests for one must expect 408, 502 and 503. */
export const faultyModels = ['test/unsteady', 'test/dead', 'test/cold', 'test/silent'] as const;
/** Models that always respond. */
export const steadyModels = ['test/echo', 'test/second'] as const;

/**
 * The wait of a request to a silent upstream; no steady upstream is ever as slow, however busy the
 * host.
 */
const upstreamTimeoutMs = 4_000;
const engine = fileURLToPath(new URL('../harness/fake-engine.ts', import.meta.url));

export async function startWorld(): Promise<World> {
  const upstream = await startUpstream();
  const silent = await startUpstream();
  silent.always(reply.hang());
  upstream.respond(responseTo);
  const naru = await startTestGateway({
    hasOwnTokens: true,
    models: [
      { id: 'test/echo', upstreams: [upstream.url] },
      { id: 'test/second', upstreams: ['http://127.0.0.1:1/v1', upstream.url] },
      { id: 'test/unsteady', upstreams: [upstream.url] },
      { id: 'test/dead', upstreams: ['http://127.0.0.1:1/v1'] },
      { id: 'test/silent', upstreams: [silent.url] },
      { id: 'test/strict', upstreams: [upstream.url] },
      { id: 'test/small', upstreams: [upstream.url], model: { context_length: 8 } },
      {
        id: 'test/cold',
        upstreams: [],
        model: { candidates: [{ slot: 'cold' }], price: testPrice },
      },
    ],
    config: {
      limits: {
        upstream_timeout_ms: upstreamTimeoutMs,
        stream_idle_timeout_ms: upstreamTimeoutMs,
        cold_wait_ms: 0,
      },
      slots: [
        {
          name: 'cold',
          command: [process.execPath, engine, 'engine', '{port}', '{"healthStatus":503}'],
          cwd: tmpdir(),
          start_budget_ms: 3_600_000,
        },
      ],
    },
  });
  const payer = await naru.account({ credit: '1000000000000' });
  const people = await credentialsOf(naru, payer);
  // The cold engine runs from now on, and never becomes ready.
  const toCold = {
    key: payer.key,
    body: { model: 'test/cold', messages: [{ role: 'user', content: 'hi' }] },
  };
  assert.equal((await naru.send('POST', '/chat/completions', toCold)).status, 503);
  await until('the cold engine runs', () => process.getActiveResourcesInfo().includes('ProcessWrap'), 30_000);
  return {
    naru,
    upstream,
    payer,
    ...people,
    async close() {
      await naru.close();
      await upstream.close();
      await silent.close();
    },
  };
}

async function credentialsOf(
  naru: TestGateway,
  payer: TestAccount,
): Promise<Pick<World, 'steward' | 'credentials' | 'ownHashes' | 'foreignHashes'>> {
  const { operator } = naru;
  const inOneHour = naru.clock.now() + 3_600_000;
  const boss = await manager(naru);
  const own = await Promise.all(Array.from({ length: 40 }, () => boss.account.another()));
  const poor = await naru.account({ credit: '0' });
  const capped = await payer.another({ limit: '0' });
  const expired = await payer.another({ expiresAtMs: inOneHour });
  const suspended = await payer.another();
  await operator.suspendKey({ hash: suspended.hash, suspended: true, reason: 'fuzz' });
  const revoked = await payer.another();
  await operator.revokeKey(revoked.hash);
  const steward = (await payer.another({ kind: 'management' })).key;
  const off = await payer.another();
  await naru.send('PATCH', `/keys/${off.hash}`, { key: steward, body: { disabled: true } });
  naru.clock.advance(7_200_000);
  const bearer = (key: string): string => `Bearer ${key}`;
  return {
    steward,
    credentials: new Map<string, string | null>([
      ['inference', bearer(payer.key)],
      ['management', bearer(boss.key)],
      ['none', null],
      ['unknown', bearer(`sk-naru-v1-${'0'.repeat(64)}`)],
      ['malformed', 'Bearer garbage'],
      ['basic', 'Basic dXNlcjpwYXNz'],
      ['two words', `Bearer ${payer.key} ${boss.key}`],
      ['no credit', bearer(poor.key)],
      ['at its limit', bearer(capped.key)],
      ['expired', bearer(expired.key)],
      ['suspended', bearer(suspended.key)],
      ['revoked', bearer(revoked.key)],
      ['off', bearer(off.key)],
      ['fuzzed', bearer(own[0]?.key ?? '')],
    ]),
    ownHashes: own.map((each) => each.hash),
    foreignHashes: [payer.hash, revoked.hash, '0'.repeat(64), 'xyz', 'A'.repeat(64)],
  };
}

const faults: readonly Reply[] = [
  reply.status(500),
  reply.status(401),
  reply.status(400),
  reply.tooMany('7'),
  reply.leak(),
  reply.redirect('http://127.0.0.1:1/'),
  reply.drop(),
  reply.drop('rst'),
  reply.raw('nonsense\r\n\r\n'),
  reply.json({}),
  reply.json([]),
  reply.status(200, '<html>an unexpected page</html>'),
  reply.stream(['a', 'b', piece.error(500, 'broke')]),
  reply.stream(['a', 'b'], { finish: null, done: false }).cutAt(-7, 'rst'),
  reply.stream(['a', { data: '{"broken' }]),
  reply.stream(['a']).cutAt('head'),
  reply.whole('half of it').cutAt(-5),
  reply.chat('Hello there.').byteByByte(),
  ...Object.values(oddUsages).map((odd) => reply.chat('It counts badly.', { usage: odd })),
];

/** The upstream's response follows from the request alone, so that a seed always means the same. */
function responseTo({ body, raw }: UpstreamRequest): Reply {
  if (body['model'] === 'upstream-strict')
    return reply.status(422, { error: { message: 'the input is too long' } });
  const digest = createHash('sha256').update(raw).digest();
  const [first = 0, second = 0] = digest;
  if (body['model'] !== 'upstream-unsteady')
    return reply.chat('Text of the upstream. '.repeat(1 + (first % 3)), {
      usage: usage(10, 5 + (first % 9)),
    });
  const fault = faults[second % faults.length];
  if (fault === undefined) throw new Error('no fault');
  return fault;
}
