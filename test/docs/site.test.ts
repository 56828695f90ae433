/** The site of `npm run docs`: every page and endpoint is in it, its links have targets, and it is found in Korean. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { foreignLoads } from '../../scripts/docs-site/foreign-loads.ts';
import { cutSection, headingsOf, replaceLinks } from '../../scripts/docs-site/markdown.ts';
import { pageGroups } from '../../scripts/docs-site/pages.ts';
import { fieldsOf } from '../../scripts/docs-site/schema-fields.ts';
import { readSite } from '../../scripts/docs-site/site.ts';
import { startBrowser } from '../browser/browser.ts';
import { fullOnly } from '../harness/tier.ts';

const root = join(import.meta.dirname, '../..');
const packages = join(root, 'scripts/docs-site/packages');
let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'naru-docs-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

test('every Markdown file of docs is a page, once, and every link has a target', () => {
  const sources = pageGroups.flatMap(({ pages }) => pages).map(({ source }) => source);
  assert.equal(new Set(sources).size, sources.length);
  const files = globSync('docs/**/*.md', { cwd: root });
  assert.deepEqual(
    files.filter((file) => !sources.includes(file)),
    [],
    'add them to scripts/docs-site/pages.ts',
  );
  assert.deepEqual(readSite().deadLinks, []);
});

test('each endpoint has a page in both languages, with its credential, fields and errors', () => {
  const { pages } = readSite();
  const endpoints = [...pages.keys()].filter((address) => address.startsWith('api/'));
  assert.ok(endpoints.length > 19, endpoints.join(' '));
  for (const address of endpoints) assert.ok(pages.has(`ko/${address}`), address);
  const create = pages.get('api/post-keys') ?? '';
  assert.match(create, /^# Create a key\n\n`POST \/api\/v1\/keys`/);
  assert.match(create, /\*\*Credential:\*\* a management key/);
  assert.match(create, /\| `name` \| string \(1 to \d+ characters\) \| yes \|/);
  assert.match(create, /\| 402 \| `insufficient_credits` \|/);
  assert.match(
    pages.get('ko/api/post-keys') ?? '',
    /^<div lang="ko">\n\n# 키 생성\n[\s\S]*\*\*인증:\*\* 관리 키/,
  );
});

test('each alert of the runbook has the rule that fires it', () => {
  const runbook = readSite().pages.get('runbook') ?? '';
  assert.match(
    runbook,
    /## NaruDown\n\n`critical`, when it lasts for 1m:\n\n```\nup\{job="naru"\} == 0\n```\n/,
  );
});

test('sections, headings and links are not looked for in code', () => {
  const text =
    '# A\n\n```\n## no\n[x](no.md)\n```\n\n## B c\n\n`[y](no.md)` [z](b.md#q)\n\n### D\n\n## B c\n';
  assert.deepEqual(
    headingsOf(text).map(({ anchor }) => anchor),
    ['a', 'b-c', 'd', 'b-c-1'],
  );
  assert.equal(cutSection(text, 'b-c').section, '# B c\n\n`[y](no.md)` [z](b.md#q)\n\n## D\n');
  assert.doesNotMatch(cutSection(text, 'b-c').rest, /### D/);
  assert.throws(() => cutSection(text, 'e'));
  const seen: string[] = [];
  replaceLinks(text, (link) => {
    seen.push(link);
    return link;
  });
  assert.deepEqual(seen, ['b.md#q']);
});

test('the fields of a schema have their places, types and limits', () => {
  const item = { type: 'object', properties: { a: { type: 'integer', minimum: 1, maximum: 9 } } } as const;
  const list = {
    anyOf: [{ type: 'array', items: item, maxItems: 1 }, { type: 'null' }],
    description: 'd',
  } as const;
  assert.deepEqual(fieldsOf({ type: 'object', properties: { list }, required: ['list'] }), [
    { path: 'list', type: 'array of object (at most 1 item) or null', isRequired: true, description: 'd' },
    { path: 'list[].a', type: 'integer (1 to 9)', isRequired: false, description: '' },
  ]);
});

test('a page that loads a file of another server is found, and a link to one is not', () => {
  const at = join(folder, 'loads');
  mkdirSync(at);
  writeFileSync(join(at, 'a.html'), '<a href="https://x.test/"></a><script src="//x.test/a.js"></script>');
  writeFileSync(join(at, 'a.css'), '@import "https://x.test/a.css"; b { src: url(/a.woff2) }');
  assert.deepEqual(foreignLoads(at).toSorted(), ['a.css: https://x.test/a.css', 'a.html: //x.test/a.js']);
});

test('the lockfile of the site names exact versions and no registry, and no package runs a script', () => {
  const { dependencies } = JSON.parse(readFileSync(join(packages, 'package.json'), 'utf8'));
  const lock = JSON.parse(readFileSync(join(packages, 'package-lock.json'), 'utf8')).packages;
  for (const [name, version] of Object.entries(dependencies)) {
    assert.match(String(version), /^\d+\.\d+\.\d+$/);
    assert.equal(lock[`node_modules/${name}`]?.version, version);
  }
  for (const [name, each] of Object.entries<{ resolved?: string; version?: string }>(lock)) {
    assert.ok(each.resolved === undefined, name);
    if (name !== '') assert.ok(each.version !== undefined, name);
  }
  assert.match(readFileSync(join(packages, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m);
});

test(
  'the built site works below a base path, and its search finds Korean words by their parts',
  fullOnly,
  async () => {
    const out = join(folder, 'site/naru');
    const script = join(root, 'scripts/docs.ts');
    const built = spawnSync(process.execPath, [script, '--base', '/naru/', '--out', out], {
      encoding: 'utf8',
    });
    assert.equal(built.status, 0, built.stdout + built.stderr);
    const server = createServer((request, response) => {
      const path = decodeURIComponent(new URL(request.url ?? '', 'http://a').pathname);
      const file = join(folder, 'site', path.endsWith('/') ? `${path}index.html` : path);
      if (!existsSync(file)) {
        response.writeHead(404).end();
        return;
      }
      response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream' });
      response.end(readFileSync(file));
    }).listen(0, '127.0.0.1');
    const browser = await startBrowser();
    try {
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      for (const [theme, width] of [
        ['light', 1440],
        ['dark', 390],
      ] as const) {
        const view = await browser.open(origin, { theme, width });
        for (const name of ['index', 'overview', 'configuration', 'works-with', 'ko/api/post-keys']) {
          await view.page.goto(`${origin}/naru/${name}.html`, { waitUntil: 'networkidle' });
          const sizes = await view.page.evaluate('[document.documentElement.scrollWidth, innerWidth]');
          assert.deepEqual(sizes, [width, width], `${name} is wider than the window`);
        }
        await view.page.keyboard.press('Control+k');
        await view.page.locator('#localsearch-input').fill('원문');
        await view.page.locator('#localsearch-list .result', { hasText: '키 생성' }).first().waitFor();
        view.assertClean();
        await view.close();
      }
    } finally {
      await browser.close();
      server.close();
    }
  },
);

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.png': 'image/png',
};
