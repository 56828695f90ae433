import { join } from 'node:path';
import { programOf } from '../../scripts/program.mjs';

const root = join(import.meta.dirname, '../..');

/**
 * The program that tests start as a process: the bundle of the present sources, which `npm test`
 * builds first and which takes half the processor time to start, or else the sources.
 */
export const program = programOf(root) ?? join(root, 'src/main.ts');
