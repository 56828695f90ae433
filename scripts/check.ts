/**
 * `npm run check`: format and lint, types, dead code. Always runs all three, with `--types` only the
 * types; the exit code is 0 if all are clean. With `--size` it prints how large the tree is instead,
 * and fails when a document has too many words (`size.ts`). What the checks found is also in `.cache/faults.txt`, which `test/docs/checks.test.ts`
 * repeats: a whole `npm test` prints it far above the summary.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { printSize } from './size.ts';

if (process.argv.includes('--size')) process.exit(printSize() ? 0 : 1);

const root = join(import.meta.dirname, '..');

type Check = readonly [name: string, args: readonly string[]];

const typeChecks: readonly Check[] = [
  ['types', typesOf('tsconfig.json')],
  ['types of web', typesOf('web/tsconfig.json')],
];
const allChecks: readonly Check[] = [
  [
    'format and lint',
    [
      '@biomejs/biome/bin/biome',
      'check',
      '--error-on-warnings',
      ...(process.argv.includes('--write') ? ['--write'] : []),
    ],
  ],
  ...typeChecks,
  ['dead code', ['knip/bin/knip.js']],
];
const checks = process.argv.includes('--types') ? typeChecks : allChecks;

const faultsFile = join(root, '.cache/faults.txt');
const faults: string[] = [];

/** The type checkers end before they need the memory that a collection would free. */
const checkerEnv = { GOGC: 'off', GOMEMLIMIT: '2GiB' };

// Beside each other, unless the formatter writes what the others read.
const results = process.argv.includes('--write')
  ? await inTurn(checks.map((check) => () => run(check)))
  : await Promise.all(checks.map(run));
if (faults.length === 0) rmSync(faultsFile, { force: true });
else {
  mkdirSync(dirname(faultsFile), { recursive: true });
  writeFileSync(faultsFile, faults.join('\n'));
}
process.exit(results.every((isClean) => isClean) ? 0 : 1);

/** Runs a check, prints its output when it ends, and resolves with whether it found nothing. */
async function run([name, [program = '', ...args]]: Check): Promise<boolean> {
  const started = performance.now();
  const child = spawn(process.execPath, [join(root, 'node_modules', program), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...checkerEnv, ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}) },
  });
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => output.push(bytes));
  const isClean = await new Promise<boolean>((resolve, reject) => {
    child.on('error', reject).on('close', (code) => resolve(code === 0));
  });
  const found = Buffer.concat(output);
  process.stdout.write(found);
  if (!isClean) faults.push(`${name}:\n${stripVTControlCharacters(found.toString())}`);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${isClean ? 'clean' : 'FAULTS'}: ${name} (${seconds} s)`);
  return isClean;
}

async function inTurn(steps: readonly (() => Promise<boolean>)[]): Promise<readonly boolean[]> {
  const results: boolean[] = [];
  for (const step of steps) results.push(await step());
  return results;
}

/**
 * Checks only the files that changed since the last run, and those that import them. One checker:
 * several repeat a part of the work, and the other checks have the other cores.
 */
function typesOf(project: string): readonly string[] {
  const state = join(root, '.cache/types', `${project.replaceAll('/', '-')}.tsbuildinfo`);
  return [
    'typescript/bin/tsc',
    '--noEmit',
    '--incremental',
    '--checkers',
    '1',
    '--tsBuildInfoFile',
    state,
    '--project',
    project,
  ];
}
