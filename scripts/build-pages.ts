/** `npm run web:build`: builds the dashboard and the console unless their build is current. */
import { join } from 'node:path';
import { arePagesBuilt, buildPages } from './pages.mjs';

const root = join(import.meta.dirname, '..');
if (arePagesBuilt(root)) console.error('web/dist is current');
else {
  const trouble = await buildPages(root, process.execPath);
  if (trouble !== null) {
    console.error(`the pages could not be built:\n${trouble}`);
    process.exit(1);
  }
  console.error('built web/dist');
}
