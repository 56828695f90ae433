import { join } from 'node:path';

/** Every client has its exact versions in a file here, named for its package. */
export const requirementsFolder = join(import.meta.dirname, 'requirements');
const venvsFolder = join(import.meta.dirname, '../../.cache/python-clients');

/** The virtual environment that `scripts/test-python-clients.ts` makes for a package. */
export function venvOf(packageName: string): string {
  return join(venvsFolder, packageName);
}
