import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { silentLog } from '../../src/log/log.ts';
import { countTexts } from '../../src/metering/count-tokens.ts';
import { TokenizerPool } from '../../src/metering/tokenizer-pool.ts';
import { systemClock } from '../../src/time/clock.ts';

const root = join(import.meta.dirname, '../..');
const words = '나루는 강을 건너는 곳. A ferry landing, where you cross over. 渡し場 🇰🇷 ';
const long = words.repeat(Math.ceil(300_000 / words.length));
const huge = words.repeat(Math.ceil(5_000_000 / words.length));

const opened: TokenizerPool[] = [];
function counts(script?: URL): TokenizerPool {
  const made = new TokenizerPool({ clock: systemClock, log: silentLog }, script);
  opened.push(made);
  return made;
}
after(async () => {
  for (const one of opened) await one.close();
});

test('short and long texts are counted in the thread, with the count of a direct call', async () => {
  const tokens = counts();
  assert.equal(await tokens.count([words]), await countTexts([words]));
  assert.equal(tokens.hasThread, true);
  assert.equal(await tokens.count([long, words]), await countTexts([long, words]));
  assert.equal(tokens.hasThread, true);
  assert.ok((await tokens.count([huge], 100)) < 1_000, 'it stops once it has enough');
});

test('while five megabytes are counted, short texts are counted, and the event loop continues', async () => {
  const tokens = counts();
  const done: string[] = [];
  const big = tokens.count([huge]).then((count) => {
    done.push('big');
    return count;
  });
  for (let n = 0; n < 10; n += 1) {
    await tokens.count([words]);
    await new Promise(setImmediate);
    done.push('small');
  }
  assert.ok((await big) > 1_000_000);
  assert.equal(done.indexOf('big'), 10, 'ten small counts were done before');
});

test('counting texts loads no tokenizer into this thread', () => {
  const script = `
    import { TokenizerPool } from './src/metering/tokenizer-pool.ts';
    import { silentLog } from './src/log/log.ts';
    import { systemClock } from './src/time/clock.ts';
    const tokens = new TokenizerPool({ clock: systemClock, log: silentLog });
    const before = process.memoryUsage().heapUsed;
    if ((await tokens.count(['two words'])) !== 2) throw new Error('a wrong count');
    await tokens.close();
    console.log(process.memoryUsage().heapUsed - before);
  `;
  const args = ['--input-type=module-typescript', '--eval', script];
  const grown = Number(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }));
  // The tokenizer takes some 60 MB.
  assert.ok(grown < 20_000_000, `${grown} bytes`);
});

test('concurrent texts are all counted, each with its own count', async () => {
  const tokens = counts();
  const texts = Array.from({ length: 8 }, (_, n) => long + words.repeat(n * 50));
  const [first, ...others] = await Promise.all(texts.map((text) => tokens.count([text])));
  assert.equal(first, await countTexts([long]));
  assert.deepEqual(
    others,
    others.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(others).size, 7);
});

test('a thread that dies fails no count: its texts are counted here, and no other is started for a while', async () => {
  const expected = await countTexts([long]);
  for (const program of ['process.exit(3)', 'throw new Error("no")', 'import "node:nothing"']) {
    const tokens = counts(new URL(`data:text/javascript,${program}`));
    assert.deepEqual(await Promise.all([tokens.count([long]), tokens.count([long])]), [expected, expected]);
    assert.equal(tokens.hasThread, false);
    assert.equal(await tokens.count([long]), expected);
    assert.equal(tokens.hasThread, false);
  }
});

test('close ends the thread, and waiting callers still get their counts', async () => {
  const tokens = counts();
  const waiting = tokens.count([long]);
  await tokens.close();
  assert.equal(tokens.hasThread, false);
  assert.equal(await waiting, await countTexts([long]));
  assert.equal(await tokens.count([long]), await countTexts([long]));
  assert.equal(tokens.hasThread, false);
});
