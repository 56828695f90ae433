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
  ['types', typesOf('tsconfig.json')],
  ['types of web', typesOf('web/tsconfig.json')],
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

/** Checks only the files that changed since the last run, and those that import them. */
function typesOf(project: string): readonly string[] {
  const state = join(root, '.cache/types', `${project.replaceAll('/', '-')}.tsbuildinfo`);
  return [
    'typescript/bin/tsc',
    '--noEmit',
    '--incremental',
    '--tsBuildInfoFile',
    state,
    '--project',
    project,
  ];
}
