import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** What decides by the tier: a module, and the test of the checks, of which the full tier has more. */
const tierModule = 'test/harness/tier.ts';
const checksFile = 'test/docs/checks.test.ts';
/** Files of the full tier only; named on the command line they run in either. */
export const fullOnlyFile = /\.full\.test\.ts$/;

/** The test files of which the full tier runs more than the quick one; paths from `root`. */
export function withMoreInFullTier(root: string, files: readonly string[]): readonly string[] {
  const imports = new Map<string, readonly string[]>();
  const reachesTier = (file: string): boolean => {
    const reached = new Set([file]);
    for (const each of reached) {
      if (!imports.has(each)) imports.set(each, importsOf(root, each));
      for (const path of imports.get(each) ?? []) reached.add(path);
    }
    return reached.has(tierModule);
  };
  return files.filter((file) => fullOnlyFile.test(file) || file === checksFile || reachesTier(file));
}

/** The modules of tests and scripts that a file imports. */
function importsOf(root: string, file: string): readonly string[] {
  const found = readFileSync(join(root, file), 'utf8').matchAll(/(?:from |import |import\()'(\.[^']+)'/g);
  return [...found]
    .map(([, path = '']) => normalize(join(dirname(file), path)))
    .filter((path) => /^(test|scripts)\//.test(path) && existsSync(join(root, path)));
}
