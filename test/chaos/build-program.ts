/** Builds the program that the drills start, as `npm start` does. */
import { join } from 'node:path';
import { buildProgram } from '../../scripts/program.mjs';

const trouble = await buildProgram(join(import.meta.dirname, '../..'), process.execPath);
if (trouble !== null) throw new Error(`the build failed: ${trouble}`);
