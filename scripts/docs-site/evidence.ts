/**
 * Which tests show which statement. A test names what it shows in a comment above it:
 * `// spec:conformance/21,157-159` for statements of `docs/spec/conformance.md`, `// security:3` for
 * guarantees of `SECURITY.md`, `// pages:U3` for pages. `npm run docs` writes the tables.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { numbersOf, specificationPages } from './specification.ts';

const root = join(import.meta.dirname, '../..');

/** A test with what it shows. */
export interface CitingTest {
  readonly file: string;
  readonly name: string;
  readonly ids: readonly string[];
}

/** What tests show: the prefix of its comments, and the texts of its statements. */
export interface Claims {
  readonly title: string;
  readonly prefix: string;
  readonly statements: ReadonlyMap<string, string>;
}

/** Every list of statements that needs a test for each. */
export function allClaims(): readonly Claims[] {
  const security = readFileSync(join(root, 'SECURITY.md'), 'utf8');
  const conformance = specificationPages().find(({ name }) => name === 'conformance')?.text ?? '';
  return [
    {
      title: 'Statements of `docs/spec/conformance.md`',
      prefix: 'spec:conformance/',
      statements: new Map(
        [...conformance.matchAll(/^\| \*\*(\d+)\*\* \| (.+?) \| (.+?) \| `spec:/gm)].map(
          ([, number = '', request, holds]) => [number, `${request}: ${holds}`],
        ),
      ),
    },
    {
      title: 'Guarantees of `SECURITY.md`',
      prefix: 'security:',
      statements: new Map(
        [...security.matchAll(/^(\d+)\. (.+)$/gm)].map(([, number = '', text = '']) => [number, text]),
      ),
    },
    { title: 'Pages of the dashboard (U) and the console (A)', prefix: 'pages:', statements: pages },
  ];
}

/** Every page that the dashboard and the console must have. */
const pages: ReadonlyMap<string, string> = new Map([
  ['U1', 'Overview 개요: balance, days left, spend, highest costs, recent failures'],
  ['U2', 'Usage 사용량: any metric by any dimension over time'],
  ['U3', 'Requests 요청 기록: found, filtered, followed live'],
  ['U3d', 'One request: the waterfall of candidates, the price line by line'],
  ['U4', 'Apps 앱: spend of each app; rename, merge, hide'],
  ['U5', 'API keys: limits, resets, use; create, edit, rotate, revoke'],
  ['U5c', 'Key created: shown once, with code for clients'],
  ['U6', 'Management keys 관리 키'],
  ['U7', 'Credits 크레딧: balance and lots, top-up requests, thresholds'],
  ['U8', 'Transactions 거래 내역: the lines of the ledger'],
  ['U9', 'Models 모델: prices, limits, speed, state'],
  ['U10', 'Rankings 순위 of apps and models'],
  ['U11', 'Playground 플레이그라운드'],
  ['U12', 'Settings 설정: sign-in, sessions, language, personal data'],
  ['A1', 'Now: the current activity of the service'],
  ['A2', 'Accounts: search, one account, grant, refund, adjust, suspend'],
  ['A3', 'Keys: find, suspend, why a call was rejected'],
  ['A4', 'Providers and candidates: health, test, drain, dry run'],
  ['A5', 'Models and prices: published, pending, margin, publish'],
  ['A6', 'Slots: state, memory, queue, log; start, stop, pin'],
  ['A7', 'Exchange rate and its effect on prices'],
  ['A8', 'Top-up requests: confirm, reject'],
  ['A9', 'Liability: outstanding credit, ageing, thresholds'],
  ['A10', 'Datasets: last sync, run now'],
  ['A11', 'Ledger: verify, export, last backup'],
  ['A12', 'Audit log of every action; announcements'],
  ['A13', 'Configuration: effective values, difference, reload'],
]);

/** Every test with such a comment, in file order. */
export function citingTests(prefix: string): readonly CitingTest[] {
  // More comment lines or the head of a loop may stand between the citation and the test.
  const pattern = new RegExp(
    `^[ \\t]*// ${prefix}([\\w,-]+)[^\\n]*\\n(?:(?!^[ \\t]*// ${prefix})[\\s\\S]){0,1500}?\\btest\\(\\s*(['"\`])((?:\\\\.|(?!\\2)[\\s\\S])*)\\2`,
    'gm',
  );
  return globSync('test/**/*.test.ts', { cwd: root })
    .sort()
    .flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(pattern)].map(([, ids = '', , name = '']) => ({
        file,
        name: name.replace(/\\(.)/g, '$1').replace(/\s+/g, ' '),
        ids: prefix === 'pages:' ? ids.split(',') : numbersOf(ids),
      })),
    );
}

/** The page of all statements with their tests. */
export function evidencePage(): string {
  const sections = allClaims().map(({ title, prefix, statements }) => {
    const tests = citingTests(prefix);
    const rows = [...statements].map(([id, text]) => {
      const shown = tests
        .filter(({ ids }) => ids.includes(id))
        .map(({ file, name }) => `\`${file}\`: ${name.replaceAll('|', '\\|')}`);
      return `| ${id} | ${text} | ${shown.join('<br>')} |`;
    });
    return `## ${title}\n\n| No. | Statement | Tests |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `# Which tests show what\n\n${sections.join('\n')}`;
}
