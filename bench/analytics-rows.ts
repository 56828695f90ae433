import { type GenerationUuid, generationIdOf } from '../src/ids/generation-id.ts';
import { type ConsoleParts, consoleRows } from '../src/pages/console/rows.ts';
import { type DashboardParts, dashboardRows } from '../src/pages/dashboard/rows.ts';
import type { AnyPageRoute } from '../src/pages/page-route.ts';
import type { TestGateway } from '../test/harness/gateway.ts';
import { PageBrowser, type TestSessions } from '../test/harness/pages.ts';

const goalMs = 1_000;

/** They need an owner who signed in in person, or a slot. */
const notMeasured = [
  '/dashboard/api/profile',
  '/dashboard/api/personal-data',
  '/console/api/slots/{name}/log',
];

const dimensions = ['model', 'provider', 'status', 'error', 'finish'];

/** What is wanted of rows that need or accept a query; every other row is read without one. */
function queriesOf(days: number): Readonly<Record<string, readonly string[]>> {
  const from = new Date(Date.now() - (days - 1) * 86_400_000).toISOString();
  const all = `range=custom&from=${from}`;
  const filters = ['range=30d', 'range=today', 'range=30d&model=vendor/model-1', 'range=30d&status=502', all];
  return {
    '/usage/totals': filters,
    '/usage/groups': [
      ...[...dimensions, 'key', 'app'].map((by) => `range=30d&by=${by}`),
      `${all}&by=model`,
      `${all}&by=app`,
    ],
    '/usage/series': [
      'range=7d&step=hour',
      'range=30d&step=day',
      ...[...dimensions, 'key', 'app'].map((by) => `range=30d&step=day&by=${by}`),
      'range=7d&step=hour&by=model',
      `${all}&step=day&by=model`,
    ],
    '/usage/latency': ['ttft', 'duration', 'speed'].flatMap((of) => [
      `range=30d&of=${of}`,
      `range=30d&of=${of}&step=day`,
      `range=30d&of=${of}&step=day&by=model`,
      `range=7d&of=${of}&step=hour&by=provider`,
      `${all}&of=${of}&step=day&by=model`,
    ]),
    '/route': ['models=vendor/model-1'],
    '/books/csv': [`month=${new Date().toISOString().slice(0, 7)}`],
    '/generations': [
      'range=30d',
      'range=30d&status=502',
      'range=30d&model=vendor/model-7&status=502',
      'range=30d&model=no/such-model',
      'range=today',
      all,
    ],
  };
}

/** The id of the last request of an account. */
export async function lastRequest({ database }: TestGateway, accountId: number): Promise<string> {
  const [record] = await database.query<{ id: string }>(
    'SELECT id FROM generation WHERE account_id = $1 ORDER BY id DESC LIMIT 1',
    [accountId],
  );
  return generationIdOf((record?.id ?? '').replaceAll('-', '') as GenerationUuid);
}

/** Reads every page row of an account's dashboard and of the console; returns how many missed the goal. */
export async function measureRows(
  gateway: TestGateway,
  sessions: TestSessions,
  of: {
    readonly accountId: number;
    readonly hash: string;
    readonly days: number;
    readonly times: number;
    readonly only?: RegExp;
  },
  print: (line: string) => void,
): Promise<number> {
  const id = await lastRequest(gateway, of.accountId);
  const owner = new PageBrowser(gateway.origin, 'dashboard', sessions.owner(of.accountId));
  const admin = `http://127.0.0.1:${gateway.gateway.admin.port}`;
  const operator = new PageBrowser(admin, 'console', sessions.operator('admin'));
  const ids: Readonly<Record<string, string>> = {
    '/generations/{id}': `/generations/${id}`,
    '/accounts/{account}/generations/{id}': `/accounts/${of.accountId}/generations/${id}`,
    '/keys/{hash}': `/keys/${of.hash}`,
    '/apps/{id}': '/apps/281474976710001',
    '/accounts/{account}/apps/{id}': `/accounts/${of.accountId}/apps/281474976710001`,
  };
  const queries = queriesOf(of.days);
  const all = [...dashboardRows({} as DashboardParts), ...consoleRows({} as ConsoleParts)];
  let missed = 0;
  for (const row of all.filter(isRead))
    for (const path of pathsOf(row, { ids, queries, accountId: of.accountId })) {
      const name = `${row.area} ${path}`;
      if (of.only !== undefined && !of.only.test(name)) continue;
      const browser = row.area === 'dashboard' ? owner : operator;
      const { line, isMissed } = await measureRow(browser, { name, path, times: of.times });
      print(line);
      if (isMissed) missed += 1;
    }
  return missed;
}

function isRead(row: AnyPageRoute): boolean {
  if (notMeasured.includes(row.path)) return false;
  return row.method === 'GET' && row.credential === 'session' && row.format !== 'stream';
}

function pathsOf(
  row: AnyPageRoute,
  {
    ids,
    queries,
    accountId,
  }: {
    readonly ids: Readonly<Record<string, string>>;
    readonly queries: Readonly<Record<string, readonly string[]>>;
    readonly accountId: number;
  },
): readonly string[] {
  const path = row.path.slice(`/${row.area}/api`.length);
  const filled = ids[path] ?? path.replace(/\{(?:account|id)\}/, String(accountId));
  const wanted = queries[path.replace('/accounts/{account}', '')] ?? [''];
  return wanted.map((query) => (query === '' ? filled : `${filled}?${query}`));
}

async function measureRow(
  browser: PageBrowser,
  { name, path, times }: { readonly name: string; readonly path: string; readonly times: number },
): Promise<{ readonly line: string; readonly isMissed: boolean }> {
  const took: number[] = [];
  let status = 0;
  for (let n = 0; n < times; n += 1) {
    const beganMs = performance.now();
    ({ status } = await browser.send('GET', path));
    took.push(performance.now() - beganMs);
  }
  took.sort((a, b) => a - b);
  const [median = 0, max = 0] = [took[Math.floor(took.length / 2)], took.at(-1)];
  const isMissed = max > goalMs || status >= 400;
  const figures = `${median.toFixed(0).padStart(6)} ms ${max.toFixed(0).padStart(6)} ms`;
  return { line: `${name.padEnd(90)}${figures}  ${status}${isMissed ? '  MISSED' : ''}`, isMissed };
}
