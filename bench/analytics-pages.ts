import { pageRows } from '../scripts/page-tests.ts';
import { sessionCookies } from '../src/pages/page-reply.ts';
import type { Area } from '../src/pages/page-session.ts';
import { startBrowser, type TestBrowser } from '../test/browser/browser.ts';
import type { TestGateway } from '../test/harness/gateway.ts';
import { PageBrowser, type TestSessions } from '../test/harness/pages.ts';

const goalMs = 1_000;
/** They need an owner who signed in in person. */
const needsOwner = /\/api\/(?:profile|personal-data)$/;
/** A page has asked for everything when nothing was asked for so long. */
const quietMs = 700;

/** What the pages are of. */
export interface PagesOf {
  readonly accountId: number;
  /** A request of the account. */
  readonly id: string;
  readonly times: number;
}

/** A page of the requirements, at its address. */
interface PageAddress {
  readonly name: string;
  readonly area: Area;
  readonly path: string;
}

/** What a page reads when it is opened: the rows of one wave at once, and a wave after the other. */
type Waves = readonly (readonly string[])[];

/**
 * Opens every page of the requirements in a browser to learn what it reads, and then reads the same
 * over HTTP as often as stated; returns how many pages missed the goal.
 */
export async function measurePages(
  gateway: TestGateway,
  sessions: TestSessions,
  of: PagesOf,
  print: (line: string) => void,
): Promise<number> {
  const origins = {
    dashboard: gateway.origin,
    console: `http://127.0.0.1:${gateway.gateway.admin.port}`,
  } as const;
  const tokens = { dashboard: sessions.owner(of.accountId), console: sessions.operator('admin') } as const;
  const browser = await startBrowser();
  let missed = 0;
  try {
    print(`${'page'.padEnd(64)}rows     p50     p99   goal ${goalMs} ms (${of.times} times)`);
    for (const page of pagesOf(of)) {
      const { area } = page;
      const waves = await wavesOf(browser, page, { origin: origins[area], token: tokens[area] });
      const client = new PageBrowser(origins[area], area, tokens[area]);
      const took = await readWaves(client, waves, of.times);
      const isMissed = took.p99 > goalMs || took.failed.length > 0;
      if (isMissed) missed += 1;
      const figures = [took.p50, took.p99].map((ms) => `${ms.toFixed(0).padStart(5)} ms`).join('');
      print(
        `${page.name.padEnd(64)}${String(waves.flat().length).padStart(4)}${figures}${isMissed ? `  MISSED ${took.failed.join(' ')}` : ''}`,
      );
    }
  } finally {
    await browser.close();
  }
  return missed;
}

function pagesOf({ accountId, id }: PagesOf): readonly PageAddress[] {
  const rows = pageRows.map((row) => ({
    name: `${row.id} ${row.path} ${row.what.split(':')[0]}`,
    area: row.id.startsWith('U') ? ('dashboard' as const) : ('console' as const),
    path: row.path.replace('$id', id),
  }));
  const more = ['usage', 'requests', 'apps', 'credit', 'ledger', 'owners'].map((tab) => ({
    name: `A2 one account, its ${tab}`,
    area: 'console' as const,
    path: `/accounts/${accountId}?tab=${tab}`,
  }));
  return [
    ...rows,
    ...more,
    { name: 'A1 usage of all accounts', area: 'console', path: '/usage' },
    { name: 'A1 requests of all accounts', area: 'console', path: '/requests' },
  ];
}

/** Opens a page, and groups what it asks of the API by what it waited for. */
async function wavesOf(
  browser: TestBrowser,
  { area, path }: PageAddress,
  { origin, token }: { readonly origin: string; readonly token: string },
): Promise<Waves> {
  const view = await browser.open(origin);
  const prefix = `${origin}/${area}/api`;
  const waves: string[][] = [];
  const waveOf = new Map<string, number>();
  let responded = 0;
  let requestedAt = performance.now();
  view.page.on('request', (request) => {
    const url = request.url();
    const isStream =
      request.resourceType() === 'eventsource' || url.split('?')[0]?.endsWith('/live') === true;
    if (request.method() !== 'GET' || !url.startsWith(prefix) || isStream) return;
    requestedAt = performance.now();
    if (needsOwner.test(url) || waveOf.has(url)) return;
    waveOf.set(url, responded);
    waves[responded] ??= [];
    waves[responded]?.push(url.slice(prefix.length));
  });
  view.page.on('requestfinished', (request) => {
    responded = Math.max(responded, (waveOf.get(request.url()) ?? -1) + 1);
  });
  await view.context.addCookies([{ name: sessionCookies[area], value: token, url: `${origin}/${area}` }]);
  await view.page.goto(`/${area}${path}`);
  await view.page.getByRole('heading', { level: 1 }).waitFor();
  while (performance.now() - requestedAt < quietMs) await view.page.waitForTimeout(quietMs / 4);
  await view.close();
  return waves.filter((wave) => wave !== undefined);
}

async function readWaves(
  client: PageBrowser,
  waves: Waves,
  times: number,
): Promise<{ readonly p50: number; readonly p99: number; readonly failed: readonly string[] }> {
  const took: number[] = [];
  const failed = new Set<string>();
  for (let n = 0; n < times; n += 1) {
    const beganMs = performance.now();
    for (const wave of waves) {
      const responses = await Promise.all(
        wave.map(async (path) => ({ path, status: (await client.send('GET', path)).status })),
      );
      for (const { path, status } of responses) if (status >= 400) failed.add(`${path} ${status}`);
    }
    took.push(performance.now() - beganMs);
  }
  took.sort((a, b) => a - b);
  const at = (share: number): number => took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), failed: [...failed] };
}
