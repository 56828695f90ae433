/**
 * `bundle.ts FOLDER [PLACE]`: writes the program into a folder, as some 60 files of JavaScript with
 * source maps, and the licenses of the packages in it. PLACE is where the folder will lie beside the other files of the program. Node needs
 * 0.4 s of processor time to find, read and link the thousand modules that they are made of.
 */
import { writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { licensesOf } from './bundled-licenses.ts';

const root = join(import.meta.dirname, '..');
const [folder, place = folder] = process.argv.slice(2);
if (folder === undefined || place === undefined) throw new Error('usage: bundle.ts FOLDER [PLACE]');

/** `new URL('…', import.meta.url)`: how the program names a file of its own. */
const ownFile = /new URL\('(\.[^']*)', import\.meta\.url\)/g;
const moduleIds: string[] = [];
/** The program, its threads and the demo engine, by their names in the bundle. */
const entries = new Map([['main', join(root, 'src/main.ts')]]);

// Building an entry finds further ones. Each is a build of its own: they share no part with `main`,
// which runs when it is loaded.
for (const [name, file] of entries) {
  const bundle = await rolldown({
    cwd: root,
    input: { [name]: file },
    platform: 'node',
    tsconfig: false,
    plugins: [ownFiles(place)],
    onLog: (level, log, report) => report(level === 'warn' ? 'error' : level, log),
  });
  const { output } = await bundle.write({
    dir: folder,
    // ESM costs 40 ms more: its loader, and exports of node:http that nobody uses.
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: false,
    // V8 keeps a file with one character beyond Latin-1 as two bytes a character.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
  });
  for (const part of output) if (part.type === 'chunk') moduleIds.push(...part.moduleIds);
}
writeFileSync(join(folder, 'licenses.txt'), licensesOf(moduleIds));

/**
 * Makes the names of own files true in the folder of the bundle: a program (a thread, the demo
 * engine) becomes an entry of the bundle, any other file stays where it is.
 */
function ownFiles(home: string): Plugin {
  const named = (file: string, isFolder: boolean): string => {
    if (!file.endsWith('.ts')) return `${relative(home, file)}${isFolder ? '/' : ''}`;
    const name = `${basename(dirname(file))}-${basename(file, '.ts')}`;
    entries.set(name, file);
    return `./${name}.cjs`;
  };
  return {
    name: 'own-files',
    transform: {
      filter: { code: ownFile },
      handler: (code, id) => ({
        code: code.replaceAll(ownFile, (_, path: string) => {
          const file = resolve(dirname(id), path);
          return `new URL('${named(file, path.endsWith('/'))}', import.meta.url)`;
        }),
        map: sameLines(code, id),
      }),
    },
  };
}

/** The source map of a change within lines. */
function sameLines(code: string, id: string): { version: 3; sources: string[]; names: []; mappings: string } {
  const further = code.split('\n').length - 1;
  return { version: 3, sources: [id], names: [], mappings: `AAAA${';AACA'.repeat(further)}` };
}
