/** No regular expression of ours takes much longer for a long hostile text than for a short one. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createContext, Script } from 'node:vm';
import { sample } from '../harness/tier.ts';

const src = join(import.meta.dirname, '../../src');
const longest = 20_000;
/** A linear search through the longest text takes under a millisecond; a quadratic one some 200. */
const limitMs = 120;
/** After this long a search is stopped. */
const maxMs = 300;
/** How many texts the quick tier tries on each expression. */
const quickAttacks = 3;

/**
 * Regular expressions of a source text: a slash where a value may begin, outside of strings and
 * comments.
 */
function regexesOf(text: string): readonly string[] {
  const found: string[] = [];
  const tokens =
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=(?:[(=,:[!&|?{};+~>]|return|=>)\s*)\/(?![*/])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+)\/([a-z]*)/g;
  for (const [all, source, flags] of text.matchAll(tokens))
    if (source !== undefined && isRegex(source, flags)) found.push(all);
  return found;
}

/** A match may be a path inside of other text. */
function isRegex(source: string, flags = ''): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

const all = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .flatMap((file) => regexesOf(readFileSync(join(src, file), 'utf8')).map((regex) => ({ file, regex })));

/**
 * Texts made of repetitions of what the expression searches for, and then something that it does
 * not match.
 */
function attacksOn(regex: string): readonly ((times: number) => string)[] {
  const body = regex.slice(1, regex.lastIndexOf('/'));
  const literals = body
    .replaceAll(/\\[dwsSDWbB]|\\u\{?[0-9a-f]+\}?|\\x[0-9a-f]{2}|[[\](){}?*+^$|.]/gi, ' ')
    .replaceAll(/\\(.)/g, '$1');
  const words = [...new Set(literals.split(/\s+/))].filter((word) => word !== '').slice(0, 6);
  const pumps = [
    ...new Set([
      'a',
      '0',
      ' ',
      '-',
      '.',
      '/',
      '"',
      '\\',
      'A',
      '\n',
      'a0',
      '0.',
      '- ',
      ...words,
      ...words.map((word) => word.slice(0, 1)),
    ]),
  ];
  const heads = ['', ...words];
  return pumps.flatMap((pump) =>
    heads.flatMap((head) =>
      ['', '\u0000', '!'].map(
        (tail) => (times: number) => head + pump.repeat(Math.ceil(times / pump.length)) + tail,
      ),
    ),
  );
}

/** Milliseconds of one search; more than any limit when it had to be stopped. */
function timed(regex: string, text: string, context: ReturnType<typeof createContext>): number {
  context['text'] = text;
  const began = process.threadCpuUsage();
  try {
    new Script(`(${regex}).test(text)`).runInContext(context, { timeout: maxMs });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return Number.POSITIVE_INFINITY;
  }
  // The time of the processor: another process may have it meanwhile.
  return process.threadCpuUsage(began).user / 1000;
}

function slowest(regex: string, attacks = attacksOn(regex)): { readonly ms: number; readonly text: string } {
  const context = createContext({});
  let worst = { ms: 0, text: '' };
  for (const attack of attacks)
    for (const times of [30, longest]) {
      const text = attack(times);
      let ms = timed(regex, text, context);
      // The host may have paused: only an expression that is slow three times is slow, or that was
      // stopped twice.
      for (let again = 0; again < (Number.isFinite(ms) ? 2 : 1) && ms > limitMs; again += 1)
        ms = Math.min(ms, timed(regex, text, context));
      if (ms > worst.ms) worst = { ms, text };
      if (ms > limitMs) return worst;
    }
  return worst;
}

test('the search for slow expressions finds ours, and recognises slow ones', () => {
  assert.ok(all.length > 80, `${all.length} expressions`);
  assert.ok(all.some(({ file }) => file === 'accounts/authenticate.ts'));
  for (const slow of ['/^(a+)+$/', '/^(a|a)*$/', '/\\s+$/', '/(\\d+)*x/', '/^(-+a*)*b/'])
    assert.ok(slowest(slow).ms > limitMs, slow);
});

// security:17
test('no expression takes more than linear time', () => {
  const slow = [...new Set(all.map(({ file, regex }) => `${file}: ${regex}`))].flatMap((each) => {
    const at = each.indexOf(': ');
    const { ms, text } = slowest(each.slice(at + 2), sample(attacksOn(each.slice(at + 2)), quickAttacks));
    return ms > limitMs
      ? [`${each}: ${ms.toFixed()} ms for ${JSON.stringify(text.slice(0, 20))}… of ${text.length}`]
      : [];
  });
  assert.deepEqual(slow, []);
});
