import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type DemoSite, startDemoSite } from './demo-site.ts';

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

/** A demo site after a month with calls. */
export interface BusySite extends DemoSite {
  /** The id of a request that the second candidate answered. */
  readonly requestId: string;
}

/**
 * Starts the demo server a month ago, makes the real calls of a month with its clock at the time of
 * each, and then those of today.
 */
export async function startBusySite(): Promise<BusySite> {
  const folder = mkdtempSync(join(tmpdir(), 'naru-clock-'));
  const file = join(folder, 'behind-ms');
  const setBehind = (behindMs: number): void => {
    // Replaced as a whole: the server reads it at any time.
    writeFileSync(`${file}.new`, String(Math.max(0, Math.round(behindMs))));
    renameSync(`${file}.new`, file);
  };
  setBehind(pastDays * dayMs);
  const clock = pathToFileURL(join(import.meta.dirname, 'shifted-clock.mjs'));
  clock.searchParams.set('file', file);
  const site = await startDemoSite(trafficConfig, ['--import', clock.href]);
  const close = async (): Promise<void> => {
    await site.close();
    rmSync(folder, { recursive: true });
  };
  try {
    await makePastCalls(site, setBehind);
    return { ...site, requestId: await makeTraffic(site, setBehind), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** UTF-8 in a header, as clients send it. */
function headerOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** The demo configuration with models whose first candidate is away, so that the second responds. */
function trafficConfig(config: Readonly<Record<string, unknown>>): object {
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
    datasets: { samples: true },
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

async function makePastCalls(site: DemoSite, setBehind: (behindMs: number) => void): Promise<void> {
  const instants = pastInstants(Date.now());
  for (let from = 0; from < instants.length; from += callsAtOnce) {
    setBehind(Date.now() - (instants[from] ?? 0));
    const group = instants.slice(from, from + callsAtOnce);
    await Promise.all(
      group.map((_, at) => call(site, (from + at) % 23 === 22 ? 'naru/away' : modelOf(from + at), from + at)),
    );
  }
}

function modelOf(n: number): string {
  return n % 5 === 4 ? 'naru/fallback' : 'naru/demo';
}

/** One call of an app, repeated while there are too many; returns the id of its generation. */
async function call(site: DemoSite, model: string, n: number): Promise<string> {
  const { server, key } = site;
  const app = apps[(n * 3 + Math.floor(n / 7)) % apps.length] ?? null;
  const response = await fetch(`${server.origin}/api/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(app === null
        ? {}
        : {
            'x-title': headerOf(app),
            'http-referer': `https://app${apps.indexOf(app)}.naru.example`,
          }),
    },
    body: JSON.stringify({
      model,
      stream: n % 3 === 0,
      messages: [{ role: 'user', content: questions[n % questions.length] }],
    }),
  });
  await response.text();
  if (response.status === 429) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return await call(site, model, n);
  }
  return response.headers.get('x-generation-id') ?? '';
}

/**
 * Calls of several apps of today, some of which fail, and what an owner leaves for an operator.
 * Returns the id of a request that the second candidate answered.
 */
async function makeTraffic(site: DemoSite, setBehind: (behindMs: number) => void): Promise<string> {
  setBehind(minutesOfCalls * 60_000);
  const id = await call(site, 'naru/relayed', 1);
  for (let n = 0; n < callsToday; n += 1) {
    setBehind(((callsToday - n) * minutesOfCalls * 60_000) / callsToday);
    await call(site, modelOf(n), n);
  }
  setBehind(0);
  for (let n = 0; n < 3; n += 1) await call(site, 'naru/away', n);
  const { installation } = site;
  await installation.run('key', 'create', '--account', '1', '--name', 'batch', '--limit', '5000');
  await installation.run('account', 'create', '--name', '한강물산');
  await installation.run(
    'credit',
    'grant',
    '--account',
    '1',
    '--amount',
    '50000',
    '--memo',
    '세금계산서 2026-11',
  );
  await installation.run('credit', 'grant', '--account', '2', '--amount', '300000');
  return id;
}
