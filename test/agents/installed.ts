import { join } from 'node:path';

/**
 * Where `scripts/test-agents.ts` installs the agents: outside `test`, whose globs would find the
 * agents' own tests.
 */
export const agentsFolder = join(import.meta.dirname, '../../.cache/agents');

/**
 * Where their programs are. opencode's own entry needs an install script, which does not run, so
 * its binary is called directly.
 */
export const binFolders: readonly string[] = [
  join(agentsFolder, `node_modules/opencode-${process.platform}-${process.arch}/bin`),
  join(agentsFolder, 'node_modules/.bin'),
];
