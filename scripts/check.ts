/**
 * `npm run check`: format and lint, types, dead code. Always runs all three; the exit code is 0 if
 * all are clean.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const checks: readonly (readonly [name: string, args: readonly string[]])[] = [
  [
    'format and lint',
    [
      '@biomejs/biome/bin/biome',
      'check',
      '--error-on-warnings',
      ...(process.argv.includes('--write') ? ['--write'] : []),
    ],
  ],
  ['types', ['typescript/bin/tsc', '--noEmit', '--project', 'tsconfig.json']],
  ['types of web', ['typescript/bin/tsc', '--noEmit', '--project', 'web/tsconfig.json']],
  ['dead code', ['knip/bin/knip.js']],
];

const failed = checks.filter(([name, [program = '', ...args]]) => {
  const started = performance.now();
  const done = spawnSync(process.execPath, [join(root, 'node_modules', program), ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${done.status === 0 ? 'clean' : 'FAULTS'}: ${name} (${seconds} s)`);
  return done.status !== 0;
});
process.exit(failed.length === 0 ? 0 : 1);
