import { tmpdir } from 'node:os';
import { parseEmail } from '../../src/identity/email.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { startTestGateway, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { TestClock } from '../harness/test-clock.ts';
import { demoConfig } from './demo-site.ts';
import { type SignedInSite, signedInSite } from './long-site.ts';

const questions = ['나루가 뭐야?', 'What is Naru?', '요금은 어떻게 계산하나요?', '안녕', 'How do I start?'];
const apps = ['사내 챗봇', 'Code review', '번역 도우미', null];
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Days with calls before today. */
const pastDays = 30;
/** Requests of today: as many as of the other days. */
const callsToday = 12;
/** Over how many minutes they are spread, which the live views show. */
const minutesOfCalls = 4;
/** As many as the demo engine answers at once. */
const callsAtOnce = 4;
/** A port on which nobody listens. */
const deadUrl = 'http://127.0.0.1:9/v1';

/** A server with the demo engine after a month with calls. */
export interface BusySite extends SignedInSite {
  /** A request that the second candidate answered, and an app. */
  readonly ids: { readonly request: string; readonly app: string };
}

/** Starts it a month ago, and makes each call with the clock at its time. */
export async function startBusySite(): Promise<BusySite> {
  const nowMs = Date.now();
  const clock = new TestClock();
  setClock(clock, nowMs - pastDays * dayMs);
  const sessions = new TestSessions();
  const config = trafficConfig(demoConfig(''));
  const gateway = await startTestGateway({ clock, sessions, config });
  try {
    const { accountId, key } = await openAccount(gateway);
    await makePastCalls(gateway, key, nowMs);
    const request = await makeTraffic(gateway, key, accountId, nowMs);
    await gateway.settled();
    const [app] = await gateway.database.query<{ id: string }>('SELECT id::text FROM app WHERE id > 0');
    return {
      ...signedInSite(gateway, sessions, accountId),
      ids: { request, app: app?.id ?? '' },
      close: () => gateway.close(),
    };
  } catch (error) {
    await gateway.close();
    throw error;
  }
}

function setClock(clock: TestClock, instantMs: number): void {
  clock.set(new Date(instantMs).toISOString());
}

/** An account with credit, an inference key, and an owner who accepted an invitation. */
async function openAccount({ origin, operator }: TestGateway) {
  const accountId = await operator.createAccount({ name: '나루상사', email: null });
  await grant(operator, accountId, 10_000n, null);
  const { plaintext: key } = await operator.createKey({ ...newKey, accountId, name: '사내 서비스' });
  const by = { kind: 'cli', name: 'cli' } as const;
  const link = await operator.identity.links.invite(accountId, parseEmail('minji@naru.example'), by);
  if (typeof link === 'string') throw new Error(link);
  const body = { token: link.token, password: 'a long enough password', name: '김민지' };
  await new PageBrowser(origin, 'dashboard', null).send('POST', '/sign-in/link/redeem', { body });
  return { accountId, key };
}

const newKey = { kind: 'inference', limit: null, limitReset: 'never', expiresAtMs: null } as const;

async function grant(
  operator: TestGateway['operator'],
  accountId: number,
  won: bigint,
  memo: string | null,
): Promise<void> {
  const amount = krwOfMicro(won * 1_000_000n);
  const rest = { expiresAtMs: null, idempotencyKey: null, memo };
  await operator.grantCredit({ accountId, kind: 'topup', amount, ...rest });
}

/** The demo configuration with models whose first candidate is away, so that the second responds. */
function trafficConfig(config: Readonly<Record<string, unknown>>): Readonly<Record<string, object>> {
  // The configuration of a test stands in no folder, where its slots would run.
  const slots = (config['slots'] as readonly object[]).map((slot) => ({ ...slot, cwd: tmpdir() }));
  const models = config['models'] as readonly Readonly<Record<string, unknown>>[];
  const [demo] = models;
  const away = { slug: 'away', name: 'Away', dialect: 'openai', base_url: deadUrl, api_key: 'sk-none' };
  const candidates = [{ provider: 'away', model: 'demo' }, { slot: 'demo' }];
  const fallback = { ...demo, id: 'naru/fallback', name: 'Naru: Demo behind a provider', candidates };
  const relay = { ...away, slug: 'relay', name: 'Relay' };
  // Nothing calls it before the picture, so its circuit is closed.
  const relayed = {
    ...demo,
    id: 'naru/relayed',
    name: 'Naru: Demo behind a relay',
    candidates: [{ provider: 'relay', model: 'demo' }, { slot: 'demo' }],
  };
  const lost = { ...demo, id: 'naru/away', name: 'Naru: Away', candidates: candidates.slice(0, 1) };
  return {
    ...config,
    slots,
    datasets: { samples: true },
    // The first call waits for the engine.
    limits: { requests_per_second: 100_000, cold_wait_ms: 60_000 },
    mail: { host: '127.0.0.1', port: 9, security: 'none', from: 'naru@naru.example' },
    company: {
      name: '나루 주식회사',
      business_number: '124-81-00998',
      address: '서울특별시 강남구 테헤란로 1',
    },
    providers: [away, relay],
    models: [...models, fallback, relayed, lost],
  };
}

/** The instants of calls on the days before today: more each week, fewer at weekends, by day. */
function pastInstants(nowMs: number): readonly number[] {
  // The pages have Seoul days; its offset is whole hours.
  const todayMs = Math.floor((nowMs + 9 * hourMs) / dayMs) * dayMs - 9 * hourMs;
  return Array.from({ length: pastDays - 1 }, (_, index) => pastDays - 1 - index).flatMap((ago) => {
    const startMs = todayMs - ago * dayMs;
    const isWeekend = [0, 6].includes(new Date(startMs + 9 * hourMs).getUTCDay());
    const calls = (isWeekend ? 2 : 5 + ((ago * 7) % 4)) + Math.floor((pastDays - ago) / 7);
    return Array.from({ length: calls }, (_unused, n) => startMs + (9 + (n * 10) / calls) * hourMs);
  });
}

async function makePastCalls(gateway: TestGateway, key: string, nowMs: number): Promise<void> {
  const instants = pastInstants(nowMs);
  for (let from = 0; from < instants.length; from += callsAtOnce) {
    setClock(gateway.clock, instants[from] ?? 0);
    const group = instants.slice(from, from + callsAtOnce);
    await Promise.all(
      group.map((_, at) =>
        call(gateway, key, (from + at) % 23 === 22 ? 'naru/away' : modelOf(from + at), from + at),
      ),
    );
  }
}

function modelOf(n: number): string {
  return n % 5 === 4 ? 'naru/fallback' : 'naru/demo';
}

/** One call of an app; returns the id of its generation. */
async function call(gateway: TestGateway, key: string, model: string, n: number): Promise<string> {
  const app = apps[(n * 3 + Math.floor(n / 7)) % apps.length] ?? null;
  const { headers } = await gateway.send('POST', '/chat/completions', {
    key,
    // UTF-8 in a header, as clients send it.
    headers:
      app === null
        ? {}
        : {
            'x-title': Buffer.from(app).toString('latin1'),
            'http-referer': `https://app${apps.indexOf(app)}.naru.example`,
          },
    body: {
      model,
      stream: n % 3 === 0,
      messages: [{ role: 'user', content: questions[n % questions.length] }],
    },
  });
  return headers.get('x-generation-id') ?? '';
}

/**
 * Calls of several apps of today, some of which fail, and what an operator does. Returns the id of a
 * request that the second candidate answered.
 */
async function makeTraffic(
  gateway: TestGateway,
  key: string,
  accountId: number,
  nowMs: number,
): Promise<string> {
  const { clock, operator } = gateway;
  setClock(clock, nowMs - minutesOfCalls * 60_000);
  const id = await call(gateway, key, 'naru/relayed', 1);
  for (let n = 0; n < callsToday; n += 1) {
    setClock(clock, nowMs - ((callsToday - n) * minutesOfCalls * 60_000) / callsToday);
    await call(gateway, key, modelOf(n), n);
  }
  setClock(clock, Date.now());
  for (let n = 0; n < 3; n += 1) await call(gateway, key, 'naru/away', n);
  await operator.createKey({ ...newKey, accountId, name: 'batch', limit: krwOfMicro(5_000_000_000n) });
  const other = await operator.createAccount({ name: '한강물산', email: null });
  await grant(operator, accountId, 50_000n, '세금계산서 2026-11');
  await grant(operator, other, 300_000n, null);
  return id;
}
