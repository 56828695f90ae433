import { join } from 'node:path';
import { programOf } from '../../scripts/program.mjs';

const root = join(import.meta.dirname, '../..');
let found: string | null = null;

/**
 * The program that tests and drills start as a process: the bundle of the present sources, which
 * `npm test` and the drills build first, or else the sources. Those take twice the processor time to
 * start, and 50 MB more.
 */
export function program(): string {
  found ??= programOf(root) ?? join(root, 'src/main.ts');
  return found;
}
