import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');
const migrations = 'src/store/migrations';

/** A release of a commit, as `npm run release` makes it, unpacked. */
export interface Release {
  readonly name: string;
  readonly commit: string;
  /** The file that Node runs. */
  readonly program: string;
  /** The number of steps that its schema has. */
  readonly schema: number;
}

/** The commits of a drill: before the newest migration, with it, and now. */
export interface Commits {
  readonly before: string;
  readonly with: string;
  readonly now: string;
}

/** Finds them; `from` replaces the commit before the newest migration. Throws outside a repository. */
export function findCommits(from: string | null): Commits {
  const added = git('log', '-1', '--format=%H', '--diff-filter=A', '--', migrations);
  return {
    before: git('rev-parse', from ?? `${added}^`),
    with: added,
    now: git('rev-parse', 'HEAD'),
  };
}

/** Makes the release of a commit, once: it stays in `.cache/releases`. */
export function releaseOf(name: string, commit: string, print: (line: string) => void): Release {
  const folder = join(root, '.cache/releases', commit.slice(0, 12));
  const unpacked = join(folder, 'package');
  if (!existsSync(join(unpacked, 'program/main.cjs'))) {
    print(`... makes the release of ${commit.slice(0, 8)}`);
    rmSync(folder, { recursive: true, force: true });
    make(commit, folder);
  }
  return {
    name,
    commit,
    program: join(unpacked, 'program/main.cjs'),
    schema: readdirSync(join(unpacked, migrations)).length,
  };
}

function make(commit: string, folder: string): void {
  const tree = join(folder, 'tree');
  const made = join(folder, 'made');
  mkdirSync(tree, { recursive: true });
  const source = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', tree], { input: source });
  // Links, not copies. The packages are those of this commit.
  execFileSync('cp', ['-al', join(root, 'node_modules'), join(tree, 'node_modules')]);
  execFileSync(process.execPath, ['scripts/release.ts', made], { cwd: tree, stdio: 'ignore' });
  const file = readdirSync(made).find((each) => each.endsWith('.tgz'));
  if (file === undefined) throw new Error(`the release of ${commit} has no package`);
  execFileSync('tar', ['-xzf', join(made, file), '-C', folder]);
  rmSync(tree, { recursive: true });
  rmSync(made, { recursive: true });
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}
