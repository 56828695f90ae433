import assert from 'node:assert/strict';
import { krwOfMicro } from '../../src/money/krw.ts';
import type { TestAccount, TestGateway } from './gateway.ts';
import { until } from './until.ts';

/** An account whose lists all have many rows, and what the database says of them. */
export interface ManyRows {
  readonly account: TestAccount;
  readonly count: number;
  /** Requests that were refused for a database that responded too late; each is a record. */
  readonly refused: number;
  /** Micro-won of the account, from its ledger. */
  readonly sums: {
    readonly usage: bigint;
    readonly credits: bigint;
    /** The limits of its keys. */
    readonly limits: bigint;
    readonly quarantined: bigint;
  };
}

/**
 * Makes `count` keys of one account with a request by each from an app of its own, `count` confirmed
 * top-ups, and `count` rows of every other list of the pages.
 */
export async function makeManyRows(gateway: TestGateway, count: number, model: string): Promise<ManyRows> {
  const { database, operator, clock } = gateway;
  const account = await gateway.account({ credit: '1000000' });
  const { accountId } = account;
  await inTurns(count, async (n) => {
    const { plaintext } = await operator.createKey({
      accountId,
      kind: 'inference',
      name: `key ${n}`,
      limit: krwOfMicro(BigInt(n + 1) * 10_000_500_000n),
      limitReset: 'monthly',
      expiresAtMs: null,
    });
    // A busy machine may have a database that responds too late for a request.
    await until('the request is answered', async () => {
      const { status } = await gateway.send('POST', '/chat/completions', {
        key: plaintext,
        headers: { 'x-title': `app ${n}` },
        body: { model, messages: [{ role: 'user', content: `hello ${n}` }] },
      });
      return status === 200;
    });
    const granted = await operator.grantCredit({
      accountId,
      kind: 'topup',
      amount: krwOfMicro(100_000_000_000n + BigInt(n) * 1_000_001n),
      expiresAtMs: clock.now() + 7 * 86_400_000,
      idempotencyKey: null,
      memo: null,
    });
    assert.equal(granted.kind, 'granted');
  });
  await gateway.settled();
  const fill = (sql: string) => database.query(sql, [accountId, count]);
  await fill(
    `INSERT INTO topup_request (account_id, amount, state, requested_at, decided_at, decided_by, entry_id)
     SELECT account_id, amount, 'confirmed', created_at, created_at, 'test', id FROM ledger
     WHERE account_id = $1 AND kind = 1 ORDER BY id DESC LIMIT $2`,
  );
  await fill(
    `INSERT INTO payment_order (account_id, order_id, amount, state, failure, created_at, looked_at)
     SELECT $1, 'pay_' || n, n * 1000000, 'failed', 'EXPIRED', now(), now() FROM generate_series(1, $2) n`,
  );
  await fill(
    `INSERT INTO account (name, created_at) SELECT 'account ' || n || $1::text, now() FROM generate_series(1, $2) n`,
  );
  await database.query(
    'INSERT INTO account_balance (account_id) SELECT id FROM account a WHERE NOT EXISTS (SELECT FROM account_balance b WHERE b.account_id = a.id)',
  );
  await fill(
    `INSERT INTO announcement (level, text_ko, text_en, from_at, to_at, created_at, created_by)
     SELECT 'info', '공지 ' || n, 'text ' || n || $1::text, now(), now() + interval '1 ms', now(), 'test' FROM generate_series(1, $2) n`,
  );
  await fill(
    `INSERT INTO price_version (model, candidate, prompt, completion, request, cache_read, cache_write, published_at, currency, per, stated, usd_krw, margin_percent)
     SELECT 'old/' || $1::text, 'c', n, n, 0, 0, 0, now() - interval '9 days', 'USD', '1M', '{"prompt": "1", "completion": "1"}', (1000 + n)::text, '0' FROM generate_series(1, $2) n`,
  );
  await fill(
    `INSERT INTO page_session (token_hash, account_id, owner_id, via, address, user_agent, created_at, last_seen_at, expires_at, idle_ms)
     SELECT sha256(('s' || n)::bytea), $1, NULL, 'link', '127.0.0.1', 'test', to_timestamp(${clock.now() / 1000}), to_timestamp(${clock.now() / 1000}), to_timestamp(${clock.now() / 1000 + 86_400}), 43_200_000
     FROM generate_series(1, $2) n`,
  );
  await fill(
    `INSERT INTO quarantined_settlement (generation_id, account_id, key_id, cost, record, reason, number)
     SELECT replace(gen_random_uuid()::text, '-', ''), $1, 1, n * 1500001, '', 'test', n FROM generate_series(1, $2) n`,
  );
  await fill(
    `WITH event AS (
       INSERT INTO message_event (key, kind, data, created_at, is_spread)
       SELECT 'many:' || $1::bigint || ':' || n, 'test', '{}', now(), true FROM generate_series(1, $2) n RETURNING id)
     INSERT INTO message (event_id, subject, channel, recipient, language, created_at, sent_at)
     SELECT event.id, subject, 'email', 'a@naru.example', 'ko', now(), now()
     FROM event, unnest(ARRAY['account ' || $1::bigint, 'operators']) subject`,
  );
  const [sums] = await database.query<{ usage: bigint; credits: bigint }>(
    'SELECT usage, credits FROM account_balance WHERE account_id = $1',
    [accountId],
  );
  const [ledger] = await database.query<{ balance: string }>(
    'SELECT sum(amount)::text AS balance FROM ledger WHERE account_id = $1',
    [accountId],
  );
  assert.ok(sums !== undefined);
  assert.equal(sums.credits - sums.usage, BigInt(ledger?.balance ?? ''));
  await gateway.settled();
  const [records] = await database.query<{ count: number }>(
    'SELECT count(*)::int4 AS count FROM generation WHERE account_id = $1',
    [accountId],
  );
  const refused = (records?.count ?? 0) - count;
  const triangle = (BigInt(count) * BigInt(count + 1)) / 2n;
  const limits = triangle * 10_000_500_000n;
  return { account, count, refused, sums: { ...sums, limits, quarantined: triangle * 1_500_001n } };
}

async function inTurns(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (next < count) await work(next++);
    }),
  );
}
