import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';

/*
 * Two versions of Node matter: what the host must have to run the launcher, and what Naru brings
 * and runs on.
 */

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const { engines, optionalDependencies } = JSON.parse(read('package.json')) as {
  readonly engines: { readonly node: string };
  readonly optionalDependencies: Readonly<Record<string, string>>;
};
const [, lowestNode = ''] = /^>=(\d+)$/.exec(engines.node) ?? [];

test('Naru runs on the one Node of its optional dependencies, on every platform', () => {
  const versions = Object.entries(optionalDependencies)
    .filter(([name]) => /^node-(bin-)?(linux|darwin)-/.test(name))
    .map(([, version]) => version);
  assert.equal(versions.length, 4);
  assert.deepEqual(new Set(versions), new Set([process.versions.node]));
});

test('the workflow runs .ci/run, and the launcher on the lowest Node, with pinned actions and read permissions', () => {
  const { jobs, permissions } = parse(read('.github/workflows/ci.yml'));
  assert.deepEqual(permissions, { contents: 'read' });
  type Step = { readonly run?: string; readonly uses?: string };
  const stepsOf = (job: string): readonly Step[] => jobs[job].steps;
  assert.ok(stepsOf('test').some(({ run }) => run === '.ci/run'));
  assert.ok(stepsOf('launcher').some(({ run }) => run === 'npm run naru -- config check'));
  assert.equal(jobs.launcher.strategy.matrix.node[0], `${lowestNode}.0.0`);
  const used = Object.keys(jobs).flatMap((job) => stepsOf(job).flatMap(({ uses }) => uses ?? []));
  assert.ok(used.length >= 2);
  for (const action of used) assert.match(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
  for (const job of Object.values<{ readonly 'timeout-minutes'?: number }>(jobs))
    assert.ok((job['timeout-minutes'] ?? Infinity) <= 60);
});
