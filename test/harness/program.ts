import { join } from 'node:path';
import { buildProgram, programOf } from '../../scripts/program.mjs';

const root = join(import.meta.dirname, '../..');

/**
 * The program that tests and drills start as a process: the bundle of the present sources, as `npm
 * start` runs it. The sources take twice the processor time to start, and 50 MB more.
 */
export const program = await builtProgram();

async function builtProgram(): Promise<string> {
  const trouble = await buildProgram(root, process.execPath);
  if (trouble !== null) throw new Error(`the build failed: ${trouble}`);
  const built = programOf(root);
  if (built === null) throw new Error('the build has no program');
  return built;
}
