/**
 * The table of `docs/pages.md`: the pages of the dashboard and the console, with the tests of each. A
 * test names its pages in a comment above it: `// pages:U3,U3d`.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
/** The file of the table. */
export const pagesFile = join(root, 'docs/pages.md');

/** A page: its number, what it is, and its address in its application. */
export interface PageRow {
  readonly id: string;
  readonly what: string;
  readonly path: string;
}

/** Every page that the dashboard (U) and the console (A) must have. */
export const pageRows: readonly PageRow[] = [
  { id: 'U1', what: 'Overview 개요: balance, days left, spend, highest costs, recent failures', path: '/' },
  { id: 'U2', what: 'Usage 사용량: any metric by any dimension over time', path: '/usage' },
  { id: 'U3', what: 'Requests 요청 기록: found, filtered, followed live', path: '/requests' },
  {
    id: 'U3d',
    what: 'One request: the waterfall of candidates, the price line by line',
    path: '/requests/$id',
  },
  { id: 'U4', what: 'Apps 앱별: spend of each app; rename, merge, hide', path: '/apps' },
  { id: 'U5', what: 'API keys: limits, resets, use; create, edit, rotate, revoke', path: '/keys' },
  { id: 'U5c', what: 'Key created: shown once, with code for clients', path: '/keys' },
  { id: 'U6', what: 'Management keys 관리 키', path: '/management-keys' },
  { id: 'U7', what: 'Credits 크레딧: balance and lots, top-up requests, thresholds', path: '/credits' },
  { id: 'U8', what: 'Transactions 거래 내역: the lines of the ledger', path: '/transactions' },
  { id: 'U9', what: 'Models 모델: prices, limits, speed, state', path: '/models' },
  { id: 'U10', what: 'Rankings 순위 of apps and models', path: '/rankings' },
  { id: 'U11', what: 'Playground 체험', path: '/playground' },
  { id: 'U12', what: 'Settings 설정: sign-in, sessions, language, personal data', path: '/settings' },
  { id: 'A1', what: 'Now: the current activity of the service', path: '/' },
  { id: 'A2', what: 'Accounts: search, one account, grant, refund, adjust, suspend', path: '/accounts' },
  { id: 'A3', what: 'Keys: find, suspend, why a call was rejected', path: '/keys' },
  { id: 'A4', what: 'Providers and candidates: health, test, drain, dry run', path: '/candidates' },
  { id: 'A5', what: 'Models and prices: published, pending, margin, publish', path: '/prices' },
  { id: 'A6', what: 'Slots: state, memory, queue, log; start, stop, pin', path: '/slots' },
  { id: 'A7', what: 'Exchange rate and its effect on prices', path: '/exchange' },
  { id: 'A8', what: 'Top-up requests: confirm, reject', path: '/top-ups' },
  { id: 'A9', what: 'Liability: outstanding credit, ageing, thresholds', path: '/liability' },
  { id: 'A10', what: 'Datasets: last sync, run now', path: '/datasets' },
  { id: 'A11', what: 'Ledger: verify, export, last backup', path: '/books' },
  { id: 'A12', what: 'Audit log of every action; announcements', path: '/audit' },
  { id: 'A13', what: 'Configuration: effective values, difference, reload', path: '/configuration' },
];

/** A test with the pages that it names. */
export interface PageTest {
  readonly file: string;
  readonly name: string;
  readonly ids: readonly string[];
}

/** Every test that names pages, in file order. */
export function pageTests(): readonly PageTest[] {
  return globSync('test/**/*.test.ts', { cwd: root })
    .sort()
    .flatMap((file) => testsOf(file, readFileSync(join(root, file), 'utf8')));
}

/** Whether the page is in the table of pages of its application. */
export function isBuilt({ id, path }: PageRow): boolean {
  const area = id.startsWith('U') ? 'dashboard' : 'console';
  return readFileSync(join(root, `web/src/${area}/pages.ts`), 'utf8').includes(`'${path}': {`);
}

/** The document: each page with its tests. */
export function pagesDocument(tests: readonly PageTest[]): string {
  const missing = pageRows.filter((row) => !isBuilt(row));
  const rows = pageRows.map((row) => {
    const area = row.id.startsWith('U') ? 'dashboard' : 'console';
    const address = isBuilt(row) ? `\`/${area}${row.path}\`` : 'not built yet';
    const named = tests
      .filter(({ ids }) => ids.includes(row.id))
      .map(({ file, name }) => `\`${file.replace('test/', '')}\`: ${name.replaceAll('|', '\\|')}`);
    return `| ${row.id} | ${row.what} | ${address} | ${named.join('<br>')} |`;
  });
  return `# Pages

The pages of the dashboard (U, for account owners) and the console (A, for operators), with the tests
of each. \`scripts/page-tests.ts\` writes this page from the comments above the tests;
\`test/docs/pages.test.ts\` compares it with them.

Built: ${pageRows.length - missing.length} of ${pageRows.length}.

| No. | Page | Address | Tests in \`test/\` |
|---|---|---|---|
${rows.join('\n')}
`;
}

function testsOf(file: string, text: string): readonly PageTest[] {
  const pattern =
    /^[ \t]*\/\/ ((?:pages:[\w,]+ ?)+)[^\n]*\n(?:(?!^[ \t]*\/\/ pages:)[\s\S]){0,1500}?\btest\(\s*(['"`])((?:\\.|(?!\2)[\s\S])*)\2/gm;
  return [...text.matchAll(pattern)].map(([, cited = '', , name = '']) => ({
    file,
    name: name.replace(/\\(.)/g, '$1').replace(/\s+/g, ' '),
    ids: cited.split(/[ ,]|pages:/).filter((id) => id !== ''),
  }));
}

if (import.meta.main) writeFileSync(pagesFile, pagesDocument(pageTests()));
