/** Builds both applications into the folder that is given, with compressed copies of every text file. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build } from 'vite';
import { entries, viteConfig } from './vite.ts';

const [outDir] = process.argv.slice(2);
if (outDir === undefined) throw new Error('usage: build.ts OUT_DIR');

process.env['NODE_ENV'] = 'production';
await Promise.all(
  entries.map(async (entry) => {
    const config = viteConfig(entry);
    await build({ ...config, build: { ...config.build, outDir: join(outDir, entry) } });
  }),
);
await Promise.all(textFiles(outDir).map(compress));

/** Files above this size get compressed copies; smaller ones gain nothing. */
function textFiles(dir: string): readonly string[] {
  const minBytes = 512;
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:js|css|html|svg|json)$/.test(file))
    .map((file) => join(dir, file))
    .filter((file) => statSync(file).size >= minBytes);
}

async function compress(file: string): Promise<void> {
  const text = readFileSync(file);
  const brotli = await promisify(brotliCompress)(text, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: text.length },
  });
  await writeFile(`${file}.br`, brotli);
  await writeFile(`${file}.gz`, await promisify(gzip)(text, { level: 9 }));
}
