import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { entries } from '../../web/vite.ts';
import { buildTestPages } from './browser.ts';

const dist = join(import.meta.dirname, '../../web/dist');
const maxInitialBytes = 200_000;

before(buildTestPages);

/** Every script that the first paint of an application waits for: those of its page, and the texts of one language. */
function initialScripts(entry: string): readonly string[] {
  const html = readFileSync(join(dist, entry, 'index.html'), 'utf8');
  const named = [...html.matchAll(/(?:src|href)="\/\w+\/(assets\/[^"]+\.js)"/g)].map(([, file = '']) => file);
  const texts = readdirSync(join(dist, entry, 'assets'))
    .filter((file) => /^(?:common|navigation)-.*\.js$/.test(file))
    .map((file) => `assets/${file}`);
  return [...named, ...texts];
}

// Its weight is of one page.
test('the Markdown library is in one file, which only the playground loads', (t) => {
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.js'),
  );
  const found = files.filter((file) =>
    readFileSync(join(dist, file), 'utf8').includes('Infinite loop on byte'),
  );
  assert.equal(found.length, 1);
  assert.ok(initialScripts('dashboard').every((file) => join('dashboard', file) !== found[0]));
  const bytes = gzipSync(readFileSync(join(dist, found[0] ?? '')), { level: 9 }).length;
  t.diagnostic(`the playground with it: ${bytes} bytes`);
  assert.ok(bytes <= 40_000, `${bytes} bytes`);
});

for (const entry of entries) {
  test(`${entry}: the initial JavaScript is at most 200 kB compressed`, () => {
    const scripts = initialScripts(entry);
    assert.ok(scripts.length > 2);
    const bytes = scripts.reduce(
      (sum, file) => sum + gzipSync(readFileSync(join(dist, entry, file)), { level: 9 }).length,
      0,
    );
    assert.ok(bytes <= maxInitialBytes, `${bytes} bytes in ${scripts.join(', ')}`);
  });

  test(`${entry}: every font and picture of its style sheets is one of its files`, () => {
    const files = readdirSync(join(dist, entry, 'assets'));
    const sheets = files.filter((file) => file.endsWith('.css'));
    const urls = sheets.flatMap((file) => [
      ...readFileSync(join(dist, entry, 'assets', file), 'utf8').matchAll(/url\(["']?([^"')]+)["']?\)/g),
    ]);
    assert.ok(urls.length > 90);
    for (const [, url = ''] of urls) {
      if (url.startsWith('data:')) continue;
      assert.ok(url.startsWith(`/${entry}/assets/`) && files.includes(basename(url)), url);
    }
  });

  test(`${entry}: nothing of the page is inline, and every text file has compressed copies`, () => {
    const html = readFileSync(join(dist, entry, 'index.html'), 'utf8');
    assert.doesNotMatch(html, /<style|style="|<script(?![^>]*\ssrc=)/);
    const files = readdirSync(join(dist, entry), { recursive: true, encoding: 'utf8' });
    const scripts = files.filter((file) => file.endsWith('.js'));
    assert.ok(scripts.length > 3);
    for (const file of scripts.filter((name) => readFileSync(join(dist, entry, name)).length >= 512))
      for (const suffix of ['br', 'gz']) assert.ok(files.includes(`${file}.${suffix}`), `${file}.${suffix}`);
  });
}
