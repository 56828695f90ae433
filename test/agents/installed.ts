import { join } from 'node:path';

/** Where `scripts/test-agents.ts` installs the agents: outside `test`, whose globs would find the tests that they ship. */
export const agentsFolder = join(import.meta.dirname, '../../.cache/agents');
