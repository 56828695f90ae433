/** The site of `npm run docs`: what is in it, its links, and that it is found in Korean. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, posix } from 'node:path';
import { after, before, test } from 'node:test';
import { foreignLoads } from '../../scripts/docs-site/foreign-loads.ts';
import { generatedFiles } from '../../scripts/docs-site/generated.ts';
import { cutSection, headingsOf, replaceLinks } from '../../scripts/docs-site/markdown.ts';
import { pageFiles } from '../../scripts/docs-site/pages.ts';
import { readSite } from '../../scripts/docs-site/site.ts';
import { packagedFiles } from '../../scripts/release-package.ts';
import { startBrowser } from '../browser/browser.ts';
import { fullOnly } from '../harness/tier.ts';
import { codeBlocksOf } from './code-blocks.ts';
import { markdownFiles } from './markdown-files.ts';

const root = join(import.meta.dirname, '../..');
const packages = join(root, 'scripts/docs-site/packages');
let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'naru-docs-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

test('every link of every Markdown file has a target; what is shipped leads to what is shipped', () => {
  assert.deepEqual(readSite().deadLinks, []);
  const generated = generatedFiles();
  const isThere = (file: string): boolean => generated.has(file) || existsSync(join(root, file));
  const textOf = (file: string): string => generated.get(file) ?? readFileSync(join(root, file), 'utf8');
  for (const file of markdownFiles())
    replaceLinks(textOf(file), (link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? file : posix.join(posix.dirname(file), path).replace(/\/$/, '/README.md');
      assert.ok(isThere(target), `${file}: ${link}`);
      if (anchor !== undefined)
        assert.ok(
          headingsOf(textOf(target)).some((heading) => heading.anchor === anchor),
          `${file}: ${link}`,
        );
      return link;
    });
  for (const file of readSite().files)
    assert.ok(
      packagedFiles.some((each) => `${file}/`.startsWith(`${each}/`)),
      `a release lacks ${file}`,
    );
});

test('the site has at most 30,000 words, and nothing of contributors', () => {
  const words = [...readSite().pages.values()].flatMap((text) => text.split(/\s+/).filter(Boolean));
  assert.ok(words.length <= 30_000, `${words.length} words`);
  const inner =
    /^(docs\/(decisions|spec)\/|src\/|test\/|bench\/|CONTRIBUTING|ARCHITECTURE|docs\/(evidence|reliability|performance))/;
  assert.deepEqual(
    pageFiles.filter((file) => inner.test(file)),
    [],
  );
});

test('a Korean page has the commands of the English one', () => {
  const commands = (file: string): readonly string[] =>
    codeBlocksOf(file).flatMap(({ language, text }) => (language === 'bash' ? [text] : []));
  for (const file of ['docs/quick-start', 'docs/tasks'])
    assert.deepEqual(commands(`${file}.ko.md`), commands(`${file}.md`), file);
  const [english, korean] = ['docs/runbook.md', 'docs/runbook.ko.md'].map((file) =>
    headingsOf(readFileSync(join(root, file), 'utf8'))
      .slice(1)
      .map(({ text }) => text),
  );
  assert.deepEqual(korean, english);
});

test('each alert of the runbook has the rule that fires it', () => {
  const runbook = readSite().pages.get('runbook') ?? '';
  assert.match(runbook, /## NaruDown\n\n`critical`, for 1m:\n\n```\nup\{job="naru"\} == 0\n```\n/);
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
        for (const name of ['index', 'quick-start', 'configuration', 'works-with', 'ko/runbook']) {
          await view.page.goto(`${origin}/naru/${name}.html`, { waitUntil: 'networkidle' });
          const sizes = await view.page.evaluate('[document.documentElement.scrollWidth, innerWidth]');
          assert.deepEqual(sizes, [width, width], `${name} is wider than the window`);
        }
        await view.page.keyboard.press('Control+k');
        for (const [word, title] of Object.entries(found)) {
          await view.page.locator('#localsearch-input').fill(word);
          await view.page.locator('#localsearch-list > li:first-child', { hasText: title }).waitFor();
        }
        view.assertClean();
        await view.close();
      }
    } finally {
      await browser.close();
      server.close();
    }
  },
);

/** The first page that a word finds. A part of a compound finds it too. */
const found = { 환불: '환불', 백업: '백업', 한도: '한도 변경', 퇴사: '퇴사', 정산: '월말 정산' };

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.png': 'image/png',
};
