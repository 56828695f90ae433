/** `npm run build`: bundles the program and builds the pages, unless their builds are current. */
import { join } from 'node:path';
import { arePagesBuilt, buildPages } from './pages.mjs';
import { buildProgram } from './program.mjs';

const root = join(import.meta.dirname, '..');
const troubles = [
  await buildProgram(root, process.execPath),
  arePagesBuilt(root) ? null : await buildPages(root, process.execPath),
].filter((trouble) => trouble !== null);
for (const trouble of troubles) console.error(`the build failed:\n${trouble}`);
process.exit(troubles.length === 0 ? 0 : 1);
