/** Messages by e-mail and webhook, with a real mail server and real receivers: once, to whom, in which words. */
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { SMTPServer } from 'smtp-server';
import { silentLog } from '../../src/log/log.ts';
import { Messages } from '../../src/messages/messages.ts';
import { takeDue } from '../../src/messages/outbox-sql.ts';
import { watchConditions, watchSlots } from '../../src/messages/watch.ts';
import { createOperatorService } from '../../src/operations/operator-service.ts';
import type { SlotStatus } from '../../src/slots/contract.ts';
import { connect } from '../../src/store/connection.ts';
import { isoDay, seoulDayAt } from '../../src/time/period.ts';
import { makeCertificate } from '../harness/certificate-server.ts';
import { onlyDistributed, workersOfServer } from '../harness/citus.ts';
import { openTestDatabase } from '../harness/database.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { TestClock } from '../harness/test-clock.ts';
import { eventually, until } from '../harness/until.ts';

interface Delivery {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const sessions = new TestSessions();
const mails: { readonly to: string; readonly text: string }[] = [];
const deliveries: Delivery[] = [];
/** The next statuses of the path /flaky; then 204, like all others. */
const statuses: number[] = [];
let smtp: SMTPServer;
let receiver: Server;
let hook = '';
let gateway: TestGateway;
let beside: TestGateway;
let admin: PageBrowser;

const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;
const listening = (server: Server): Promise<void> =>
  new Promise((resolve) => void server.listen(0, '127.0.0.1', () => resolve()));

before(async () => {
  smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    onData(stream, session, done) {
      const pieces: Buffer[] = [];
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      stream.on('end', () => {
        const to = session.envelope.rcptTo.map(({ address }) => address).join();
        mails.push({ to, text: Buffer.concat(pieces).toString() });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => void smtp.listen(0, '127.0.0.1', () => resolve()));
  receiver = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    deliveries.push({ path: request.url ?? '', headers: request.headers, body });
    const status = request.url === '/flaky' ? statuses.shift() : undefined;
    response.writeHead(status ?? 204, { location: `${hook}/elsewhere` }).end();
  });
  await listening(receiver);
  hook = `http://127.0.0.1:${portOf(receiver)}`;
  const mail = { host: '127.0.0.1', port: portOf(smtp.server), security: 'none', from: 'naru@example.com' };
  const config = {
    mail,
    webhooks: { private_networks: ['127.0.0.0/8'] },
    auth: { public_url: 'https://naru.example.com' },
  };
  gateway = await startTestGateway({ sessions, config });
  beside = await startTestGateway({ sessions, config, beside: gateway });
  admin = consoleAs('admin');
});
after(async () => {
  await beside?.close();
  await gateway?.close();
  await new Promise<void>((resolve) => smtp.close(resolve));
  receiver?.close();
});

function consoleAs(role: 'admin' | 'viewer', of = gateway): PageBrowser {
  return new PageBrowser(`http://127.0.0.1:${of.gateway.admin.port}`, 'console', sessions.operator(role));
}

/** An account with an owner, who reads this language. */
async function newOwner(language: 'ko' | 'en', isVerified = true) {
  const account = await gateway.account();
  const email = `owner-${account.accountId}@example.com`;
  await gateway.database.query(
    `INSERT INTO owner (account_id, email, email_key, email_verified, webauthn_id, preferences, created_at)
     VALUES ($1, $2, $2, $3, $4, $5, now())`,
    [account.accountId, email, isVerified, Buffer.from(randomUUID()), JSON.stringify({ language })],
  );
  return { account, email, owner: dashboardOf(account) };
}

function dashboardOf({ accountId }: TestAccount, of = gateway): PageBrowser {
  return new PageBrowser(of.origin, 'dashboard', sessions.owner(accountId));
}

/** Sets a webhook at a path of the receiver, or at a URL; returns its secret. */
async function webhook(browser: PageBrowser, path: string, kinds: readonly string[]): Promise<string> {
  const url = path.startsWith('/') ? hook + path : path;
  const set = await browser.send('PUT', '/messages/webhook', { body: { url, kinds, language: 'en' } });
  assert.equal(set.status, 200, set.text);
  return set.json.secret;
}

const at = (path: string): readonly Delivery[] => deliveries.filter((one) => one.path === path);
const mailTo = (to: string) => mails.filter((one) => one.to === to);
/** The words of a mail: its subject and its text, decoded. */
function wordsOf({ text }: { readonly text: string }): string {
  const subject = /^Subject: ((?:.|\r\n )*)/m.exec(text)?.[1] ?? '';
  const words = subject.replace(/=\?UTF-8\?([BQ])\?([^?]*)\?=\s*/gi, (_, kind: string, coded: string) =>
    kind.toUpperCase() === 'B' ? Buffer.from(coded, 'base64').toString() : quoted(coded.replaceAll('_', ' ')),
  );
  const [head = '', ...body] = text.split('\r\n\r\n');
  const content = body.join('\r\n\r\n');
  return `${words}\n${/base64/.test(head) ? Buffer.from(content, 'base64') : quoted(content)}`;
}
function quoted(text: string): string {
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

/** The key of a balance counts on what was added; the books of this test are not verified. */
async function spend(
  account: TestAccount,
  won: number,
  day = seoulDayAt(gateway.clock.now()),
): Promise<void> {
  await gateway.database.query(
    `INSERT INTO key_usage_day (account_id, key_id, day, cost, requests)
     SELECT account_id, id, $2, $3, 1 FROM api_key WHERE account_id = $1 ON CONFLICT (account_id, key_id, day) DO UPDATE SET cost = EXCLUDED.cost`,
    [account.accountId, isoDay(day), BigInt(won) * 1_000_000n],
  );
}

/** Sends what is due, from two more processes than the servers have, and waits until nothing is. */
async function quiet(): Promise<void> {
  const nowMs = gateway.clock.now();
  const { database, clock, config } = gateway;
  const another = () => new Messages({ database, clock, log: silentLog, config: () => config }).run();
  await Promise.all([another(), another()]);
  await until('what is due was sent', async () => {
    const open = await gateway.database.query(
      `SELECT FROM message_event WHERE NOT is_spread
       UNION ALL SELECT FROM message WHERE next_at <= to_timestamp($1::float8 / 1000) OR (next_at IS NOT NULL AND error IS NULL)`,
      [nowMs],
    );
    return open.length === 0;
  });
}

// spec:operator/5.1 spec:operator/5.3
test('each top-up is told once by two servers, for committed decisions only, in the language of who reads it', async () => {
  const secret = await webhook(admin, '/operators', ['topup.requested']);
  const [korean, english] = [await newOwner('ko'), await newOwner('en')];
  const ask = async ({ owner }: typeof korean) =>
    (await owner.send('POST', '/topups', { body: { amount_micro: '5000000000', depositor: 'Kim' } })).json.id;
  const ids = [await ask(korean), await ask(english), await ask(english), await ask(english)];
  const confirm = (id: number) =>
    admin.send('POST', `/topups/${id}/confirm`, { body: { bank_reference: 'T-7' } });
  assert.equal((await confirm(ids[0])).status, 200);
  assert.equal((await confirm(ids[0])).status, 200, 'again');
  assert.equal((await confirm(ids[1])).status, 409, 'the transfer paid the other one');
  await admin.send('POST', `/topups/${ids[2]}/reject`, { body: { reason: 'no transfer' } });
  await english.owner.send('POST', `/topups/${ids[3]}/withdraw`);
  await quiet();

  assert.equal(at('/operators').length, 4);
  for (const { headers, body } of at('/operators')) {
    const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    const expected = `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
    assert.equal(headers['webhook-signature'], expected);
    const { type, data } = JSON.parse(body);
    assert.deepEqual([type, data.amount_micro], ['topup.requested', '5000000000']);
    assert.ok(!body.includes('Kim'), 'no name of a person');
  }
  assert.equal(new Set(at('/operators').map(({ headers }) => headers['webhook-id'])).size, 4);
  const [confirmed, ...others] = mailTo(korean.email).map(wordsOf);
  assert.match(
    confirmed ?? '',
    /충전이 완료되었습니다[\s\S]*₩5,000이[\s\S]*https:\/\/naru\.example\.com\/dashboard\/credits/,
  );
  assert.deepEqual(others, []);
  assert.deepEqual(mailTo(english.email).length, 1);
  assert.match(wordsOf(mailTo(english.email)[0] as never), /A top-up request was rejected/);
});

// spec:operator/5.3
test('a delivery is retried with the same id until it is accepted, and given up within a day', async () => {
  const { account, owner } = await newOwner('en');
  await webhook(owner, '/flaky', ['topup.confirmed']);
  const confirmed = async (): Promise<void> => {
    const { id } = (await owner.send('POST', '/topups', { body: { amount_micro: '1000000' } })).json;
    assert.equal((await admin.send('POST', `/topups/${id}/confirm`, { body: {} })).status, 200);
  };
  const log = async () =>
    (await owner.get('/messages/log')).items.filter((one: { channel: string }) => one.channel === 'webhook');
  statuses.push(500, 302);
  await confirmed();
  for (const passedMs of [0, 30_000, 120_000]) {
    gateway.clock.advance(passedMs);
    await quiet();
  }
  assert.equal(at('/flaky').length, 3);
  assert.equal(new Set(at('/flaky').map(({ headers }) => headers['webhook-id'])).size, 1);
  assert.equal(at('/elsewhere').length, 0, 'no redirect is followed');
  assert.deepEqual(
    (await log()).map((one: Record<string, unknown>) => [one['state'], one['attempts'], one['error']]),
    [['sent', 3, null]],
  );

  statuses.push(...Array.from({ length: 8 }, () => 500));
  await confirmed();
  for (let attempt = 0; attempt < 8; attempt++) {
    await quiet();
    gateway.clock.advance(12 * 3_600_000);
  }
  await quiet();
  const [given] = await log();
  assert.deepEqual(
    [given.state, given.attempts, given.error, given.next_at],
    ['failed', 8, 'HTTP 500', null],
  );

  // A server takes a message and is killed: another one sends it when the lease has ended.
  await beside.stop();
  await gateway.database.query(
    "INSERT INTO message_event (key, kind, account_id, data, created_at, is_spread) VALUES ('killed', 'topup.confirmed', $1, '{}', now(), true)",
    [account.accountId],
  );
  const nowMs = gateway.clock.now();
  await gateway.database.query(
    `INSERT INTO message (event_id, subject, channel, recipient, language, created_at, next_at)
     SELECT id, 'account ' || account_id, 'webhook', $1, 'en', now(), to_timestamp($2::float8 / 1000) FROM message_event WHERE key = 'killed'`,
    [`${hook}/flaky`, nowMs + 1_000],
  );
  const before = at('/flaky').length;
  const taken = await takeDue(gateway.database, { atMs: nowMs + 2_000, leaseMs: 300_000, limit: 10 });
  assert.equal(taken.length, 1);
  gateway.clock.advance(310_000);
  await quiet();
  assert.equal(at('/flaky').length, before + 1);
});

// spec:operator/5.2
test('a low balance and a key near or at its limit are told once; so are slots and verifications', async () => {
  const { account, owner, email } = await newOwner('en', true);
  await webhook(owner, '/limits', ['balance.low', 'key.limit_near', 'key.limit_reached']);
  await owner.send('PUT', '/alerts', { body: { low_balance_micro: null, min_days_left: 30 } });
  const keys = (await owner.get('/keys')).items;
  const name = 'main\r\nBcc: evil@example.com <b>';
  await gateway.database.query(
    'UPDATE api_key SET limit_micro = 1000000000, limit_reset = 3, name = $2 WHERE account_id = $1',
    [account.accountId, name],
  );
  await webhook(admin, '/operators-2', ['slot.failing', 'verification.failed']);
  const look = async (): Promise<void> => {
    gateway.clock.advance(60_000);
    await watchConditions(gateway.database, gateway.clock.now(), 0);
    await quiet();
  };
  const told = () => at('/limits').map(({ body }) => JSON.parse(body).type);
  await spend(account, 790);
  await look();
  assert.deepEqual(told(), [], `${keys.length} key: below 80 %, and 10,000 won last for 88 days`);
  await spend(account, 800);
  await look();
  await look();
  assert.deepEqual(told(), ['key.limit_near']);
  await spend(account, 3_000);
  await look();
  await look();
  assert.deepEqual(told().toSorted(), ['balance.low', 'key.limit_near', 'key.limit_reached']);
  await account.topUp('100');
  await look();
  assert.equal(told().filter((type) => type === 'balance.low').length, 2, 'again after a top-up');
  gateway.clock.advance(31 * 86_400_000);
  await spend(account, 900);
  await look();
  assert.equal(told().filter((type) => type === 'key.limit_near').length, 2, 'again in the next month');
  assert.equal(mailTo(email).length, told().length, 'all of it by mail too');
  for (const mail of mailTo(email)) {
    assert.doesNotMatch(mail.text, /^Bcc:/m);
    assert.match(mail.text, /^Content-Type: text\/plain/m);
  }
  assert.ok(mailTo(email).some((mail) => wordsOf(mail).includes('“main Bcc: evil@example.com <b>”')));

  const slot = { name: 'big', state: 'FAILED', failures: 5 } as SlotStatus;
  for (let n = 0; n < 2; n++)
    await watchSlots(gateway.database, { host: 'h1', statuses: [slot], atMs: gateway.clock.now() });
  await gateway.database.query(
    `INSERT INTO audit_entry (at, who, role, act, after) VALUES (now(), 'cli', 'cli', 'ledger.verify', '{"differences": 3}')`,
  );
  await look();
  await look();
  assert.deepEqual(
    at('/operators-2')
      .map(({ body }) => JSON.parse(body).type)
      .toSorted(),
    ['slot.failing', 'verification.failed'],
  );
});

// spec:operator/5.4 pages:U12
test('people choose kinds, test what they chose, and see what was sent; a secret is shown once', async () => {
  const { owner, email, account } = await newOwner('ko');
  const chosen = await owner.get('/messages');
  assert.deepEqual([chosen.email.address, chosen.email.kinds, chosen.webhook], [email, chosen.kinds, null]);
  const sendTest = (channel: string, browser = owner) =>
    browser.send('POST', '/messages/test', { body: { channel } });
  assert.equal((await sendTest('webhook')).status, 409, 'there is none yet');
  const secret = await webhook(owner, '/chosen', ['balance.low']);
  assert.match(secret, /^whsec_/);
  assert.equal(await webhook(owner, '/chosen', []), null, 'the same URL keeps its secret');
  assert.equal(
    (await owner.send('PUT', '/messages/email', { body: { kinds: ['key.limit_near'] } })).status,
    200,
  );
  const after = await owner.get('/messages');
  assert.deepEqual(
    [after.email.kinds, after.webhook],
    [['key.limit_near'], { url: `${hook}/chosen`, kinds: [], language: 'en' }],
  );
  assert.ok(!JSON.stringify(after).includes('whsec_'));
  for (const channel of ['webhook', 'email']) assert.equal((await sendTest(channel)).status, 200);
  await quiet();
  assert.equal(JSON.parse(at('/chosen')[0]?.body ?? '').type, 'test');
  assert.match(wordsOf(mailTo(email)[0] as never), /테스트 메시지/);
  const { items } = await owner.get('/messages/log');
  assert.deepEqual(
    items.map((one: Record<string, unknown>) => [one['kind'], one['state'], one['recipient']]),
    [
      ['test', 'sent', email],
      ['test', 'sent', hook],
    ],
  );
  for (let n = 0; n < 3; n++) await sendTest('webhook');
  assert.equal((await sendTest('webhook')).status, 409, 'a sixth within a minute');
  await owner.send('DELETE', '/messages/webhook');
  assert.equal((await owner.get('/messages')).webhook, null);
  const other = await newOwner('en', false);
  assert.deepEqual(
    (await other.owner.get('/messages/log')).items,
    [],
    'nobody sees those of another account',
  );
  assert.equal((await sendTest('email', other.owner)).status, 409, 'an unverified address gets nothing');

  assert.equal(
    (
      await consoleAs('viewer').send('PUT', '/messages/webhook', {
        body: { url: hook, kinds: [], language: 'en' },
      })
    ).status,
    403,
  );
  await webhook(admin, '/secret-path', ['topup.requested']);
  assert.equal((await consoleAs('viewer').get('/messages')).webhook.url, hook, 'its path may be a secret');
  const acts = (await admin.get('/audit')).items.filter(
    ({ act }: { act: string }) => act === 'webhook.change',
  );
  assert.ok(acts.length > 0 && !JSON.stringify(acts).includes('secret-path'));

  await gateway.operator.closeAccount({ accountId: account.accountId, closed: true, reason: 'left' });
  await gateway.operator.erasePerson(account.accountId);
  const left = await gateway.database.query(
    'SELECT FROM message WHERE subject = $1 UNION ALL SELECT FROM message_choice WHERE subject = $1 UNION ALL SELECT FROM message_event WHERE account_id = $2',
    [`account ${account.accountId}`, account.accountId],
  );
  assert.equal(left.length, 0);
});

// spec:operator/5.5 security:21
test('a webhook goes to public addresses by https only, and no certificate is taken on trust', async (t) => {
  let connections = 0;
  const tls = createTlsServer(makeCertificate(t, 30), (_request, response) => response.end());
  tls.on('connection', () => {
    connections += 1;
  });
  await listening(tls as unknown as Server);
  t.after(() => tls.close());
  const trap = `https://localhost:${portOf(tls)}/x`;
  const strictSmtp = new SMTPServer({ authOptional: true, logger: false });
  strictSmtp.on('error', () => {});
  await new Promise<void>((resolve) => void strictSmtp.listen(0, '127.0.0.1', () => resolve()));
  t.after(() => new Promise<void>((resolve) => strictSmtp.close(resolve)));
  const own = { host: '127.0.0.1', port: portOf(strictSmtp.server), from: 'naru@example.com' };
  const strict = await startTestGateway({ sessions, config: { mail: own } });
  t.after(() => strict.close());
  const account = await strict.account();
  const owner = dashboardOf(account, strict);
  const urls = [
    ...['http://example.com/', 'ftp://example.com/', 'https://u:p@example.com/', 'nonsense'],
    ...[
      '127.0.0.1',
      '10.1.2.3',
      '169.254.169.254',
      '192.168.0.1',
      '0.0.0.0',
      '2130706433',
      '0x7f.1',
      '100.64.0.1',
    ],
    ...['[::1]', '[::ffff:10.0.0.1]', '[fd00::1]', '[fe80::1]', '[64:ff9b::a00:1]', '[2002:a00:1::]'],
  ];
  for (const url of urls) {
    const text = /:\/\/|nonsense/.test(url) ? url : `https://${url}/`;
    const set = await owner.send('PUT', '/messages/webhook', {
      body: { url: text, kinds: [], language: 'ko' },
    });
    assert.deepEqual([set.status, set.json.error?.type], [409, 'conflict'], text);
  }
  const failed = async (browser: PageBrowser, channel: string) => {
    assert.equal((await browser.send('POST', '/messages/test', { body: { channel } })).status, 200);
    return eventually('the test has ended', 20_000, async () => {
      const [last] = (await browser.get('/messages/log')).items;
      return last?.channel === channel && last.state === 'failed' ? last.error : null;
    });
  };
  // The name is public when it is stored, and leads into the own network when it is sent to.
  await webhook(owner, trap, []);
  assert.equal(await failed(owner, 'webhook'), 'NOT_ALLOWED');
  assert.equal(connections, 0);
  await strict.database.query(
    "INSERT INTO operator (name, name_key, role, created_at) VALUES ('op', 'op', 'admin', now())",
  );
  const console_ = consoleAs('admin', strict);
  await console_.send('PUT', '/messages/email', {
    body: { address: 'op@example.com', kinds: [], language: 'en' },
  });
  assert.match(await failed(console_, 'email'), /^SMTP E(TLS|SOCKET)/);

  const trusting = await newOwner('en');
  await webhook(trusting.owner, trap, []);
  assert.match(await failed(trusting.owner, 'webhook'), /SELF_SIGNED/);
  assert.ok(connections > 0);
});

test(
  'a server of a distributed database that is away delays the messages of its own accounts only',
  onlyDistributed('one server has all accounts'),
  async (t) => {
    const database = await openTestDatabase(t);
    await database.place();
    const { placement, address } = database;
    const clock = new TestClock();
    const operator = createOperatorService(database, { clock, keyPrefix: 'sk-', close: async () => {} });
    const day = isoDay(seoulDayAt(clock.now()));
    const ids: number[] = [];
    while (new Set(ids.map((id) => placement.partOf(id))).size < placement.parts) {
      const id = await operator.createAccount({ name: 'a', email: null });
      ids.push(id);
      await database.query(
        'INSERT INTO key_usage_day (account_id, key_id, day, cost, requests) VALUES ($1, 1, $2, 1000000, 1)',
        [id, day],
      );
    }
    const [worker] = workersOfServer();
    const client = await connect({ ...(worker ?? assert.fail()), database: 'postgres' });
    t.after(() => client.end());
    await client.query(`ALTER DATABASE ${address.database} ALLOW_CONNECTIONS false`);
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
      address.database,
    ]);
    await until('it is away', async () => {
      await placement.look();
      return placement.servers.some(({ isAway }) => isAway);
    });
    await watchConditions(database, clock.now(), 0);
    const told = await database.query<{ account_id: bigint }>(
      'SELECT account_id FROM message_event ORDER BY 1',
    );
    assert.deepEqual(
      told.map((row) => Number(row.account_id)),
      ids.filter((id) => !placement.isAway(id)),
    );
    assert.ok(told.length > 0 && told.length < ids.length);
  },
);
