import type { BrowserContext } from 'playwright-core';
import { krwOfMicro } from '../../src/money/krw.ts';
import type { Area } from '../../src/pages/page-session.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { type ManyRows, makeManyRows } from '../harness/many-rows.ts';
import { TestSessions } from '../harness/pages.ts';
import { startUpstream } from '../harness/upstream.ts';
import { viewsOf } from './views.ts';

/** A server with an owner and an operator who have signed in. */
export interface SignedInSite {
  readonly origins: Readonly<Record<Area, string>>;
  readonly cookiesOf: (area: Area, origin: string) => Parameters<BrowserContext['addCookies']>[0];
  close(): Promise<void>;
}

/** One whose names have any length and script, and whose amounts have all digits. */
export interface LongSite extends SignedInSite {
  /** Every view of an application, below it. */
  readonly addresses: Readonly<Record<Area, readonly string[]>>;
}

/** Where a gateway listens, and the cookies of the owner of the account and of an administrator. */
export function signedInSite(
  gateway: TestGateway,
  sessions: TestSessions,
  accountId: number,
): Omit<SignedInSite, 'close'> {
  return {
    origins: { dashboard: gateway.origin, console: `http://127.0.0.1:${gateway.gateway.admin.port}` },
    cookiesOf: (area, origin) => [
      {
        ...(area === 'dashboard'
          ? { name: 'naru_session', value: sessions.owner(accountId) }
          : { name: 'naru_console', value: sessions.operator('admin') }),
        url: `${origin}/${area}`,
      },
    ],
  };
}

const longModel = `test/${'model'.repeat(20)}`;
const names = [
  '가나다라마바사아자차'.repeat(10),
  'Donaudampfschifffahrtsgesellschaft'.repeat(6).slice(0, 200),
  'خدمة الاستدلال للشركة الكورية '.repeat(4).trim(),
  '👩‍👩‍👧‍👦🏳️‍🌈🇰🇷'.repeat(12),
];
const largest = '999999999999999999';

/** Starts it with `count` rows of each list. */
export async function startLongSite(count: number): Promise<LongSite> {
  const sessions = new TestSessions();
  const upstream = await startUpstream();
  const gateway = await startTestGateway({
    sessions,
    models: [
      { id: 'test/model', upstreams: [upstream.url] },
      { id: longModel, upstreams: [upstream.url] },
    ],
    config: { limits: { requests_per_second: 100_000 } },
  });
  const many = await makeManyRows(gateway, count, longModel);
  await lengthen(gateway, many);
  const found = async (sql: string) => (await gateway.database.query<{ found: string }>(sql))[0]?.found;
  const key = await found("SELECT encode(hash, 'hex') AS found FROM api_key LIMIT 1");
  const app = await found('SELECT id::text AS found FROM app WHERE id > 0 LIMIT 1');
  return {
    addresses: {
      dashboard: [...viewsOf('dashboard'), `/apps/${app}`, `/models/${longModel}`, '/components'],
      console: [...viewsOf('console'), `/keys/${key}`],
    },
    ...signedInSite(gateway, sessions, many.account.accountId),
    close: async () => {
      await gateway.close();
      await upstream.close();
    },
  };
}

/** Gives everything that has a name one of the long ones, and a few amounts all their digits. */
async function lengthen(gateway: TestGateway, many: ManyRows): Promise<void> {
  const { database } = gateway;
  const name = `($1::text[])[1 + (id % 4)::int]`;
  const columns: Readonly<Record<string, readonly string[]>> = {
    account: ['name', 'email'],
    api_key: ['name'],
    app: ['name', 'url'],
    topup_request: ['depositor', 'note', 'reason'],
    announcement: ['text_ko', 'text_en', 'created_by'],
    operator: ['name'],
  };
  for (const [table, texts] of Object.entries(columns))
    await database.query(
      `UPDATE ${table} SET ${texts.map((column) => `${column} = left(${name}, ${table === 'app' ? 100 : 200})`).join(', ')}${
        table === 'app' ? ' WHERE id > 0' : ''
      }`,
      [names],
    );
  await database.query(
    "UPDATE page_session SET user_agent = $1, address = '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'",
    [names[1]],
  );
  await database.query(
    `INSERT INTO audit_entry (at, who, role, act, account_id, subject, reason) SELECT now(), $1, 'cli', 'test.act', $2, $1, $1`,
    [names[1], many.account.accountId],
  );
  await database.query(
    `INSERT INTO quarantined_settlement (generation_id, account_id, key_id, cost, record, reason, number)
     VALUES ('long', $1, 1, $2, '', $3, 1000)`,
    [many.account.accountId, largest, names[0]],
  );
  await database.query('UPDATE api_key SET limit_micro = $1', [largest]);
  await database.query('UPDATE topup_request SET amount = $1', [largest]);
  await gateway.operator.grantCredit({
    accountId: many.account.accountId,
    kind: 'bonus',
    amount: krwOfMicro(BigInt(largest)),
    expiresAtMs: gateway.clock.now() + 7 * 86_400_000,
    idempotencyKey: null,
    memo: null,
  });
}
