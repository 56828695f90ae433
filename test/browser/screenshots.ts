/**
 * `npm run screenshots [text]`: renders pages in both languages and themes, at 1440 and 390 px,
 * into `.cache/screenshots`. With a text only the images whose name contains it, such as
 * `components-ko-dark`.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { serverVariable } from '../harness/database.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { startTestServer } from '../harness/test-server.ts';
import { languages, startBrowser, themes, widths } from './browser.ts';
import { shots } from './shots.ts';

const folder = join(import.meta.dirname, '../../.cache/screenshots');
const [wanted = ''] = process.argv.slice(2);

mkdirSync(folder, { recursive: true });
const server = await startTestServer((line) => console.error(line));
process.env[serverVariable] = JSON.stringify(server.connection);
const gateway = await startTestGateway();
const browser = await startBrowser();
try {
  for (const shot of shots)
    for (const language of languages)
      for (const theme of themes)
        for (const width of widths) {
          const name = `${shot.name}-${language}-${theme}-${width}`;
          if (!name.includes(wanted)) continue;
          const view = await browser.open(gateway.origin, { language, theme, width });
          await shot.show(view.page);
          await view.page.evaluate('document.fonts.ready');
          await view.page.screenshot({ path: join(folder, `${name}.png`), fullPage: shot.isWhole });
          await view.close();
          console.log(`${name}.png`);
        }
} finally {
  await browser.close();
  await gateway.close();
  await server.stop();
}
