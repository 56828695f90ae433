import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a browser loads by itself: sources, style sheets, images of styles. A link that a reader follows is none. */
const loads = [
  /<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc="((?:https?:)?\/\/[^"]+)"/g,
  /<link\b[^>]*\bhref="((?:https?:)?\/\/[^"]+)"/g,
  /(?:url\(|@import )["']?((?:https?:)?\/\/[^"')]+)/g,
];

/** The addresses on other servers from which the pages of a folder load something, as `FILE: URL`. */
export function foreignLoads(folder: string): readonly string[] {
  return globSync('**/*.{html,css}', { cwd: folder }).flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    return loads.flatMap((load) => [...text.matchAll(load)].map(([, url]) => `${file}: ${url}`));
  });
}
