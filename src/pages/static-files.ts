import { hash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import type { Exchange } from '../http/exchange.ts';
import type { JsonReply } from '../wire/reply.ts';
import { notBuiltPage } from './not-built-page.ts';
import type { Area } from './page-session.ts';

/** One file of the built app, with the compressed forms that the build made of it. */
interface BuiltFile {
  readonly contentType: string;
  readonly etag: string;
  readonly cacheControl: string;
  readonly plain: Buffer;
  readonly br: Buffer | null;
  readonly gzip: Buffer | null;
}

interface Build {
  /** When `index.html` was written: another time is another build. */
  readonly builtMs: number;
  /** By the path below the area: `index.html`, `assets/app-1a2b.js`. */
  readonly files: ReadonlyMap<string, BuiltFile>;
}

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
};

/** Where the build puts files whose names contain the hash of their content. */
const hashedFolder = 'assets/';
const indexFile = 'index.html';

/**
 * The built app of one area, `web/dist/<area>`, from memory. Only files that the build wrote are
 * served, by their exact names: a path is never opened. Any other path is the app's own and gets
 * `index.html`.
 */
export class StaticFiles {
  readonly #area: Area;
  readonly #folder: string;
  #build: Build | null = null;
  #reading: Promise<Build | null> | null = null;

  constructor(area: Area, distFolder: string) {
    this.#area = area;
    this.#folder = join(distFolder, area);
  }

  /** The response to `GET` or `HEAD` of a path of the area. */
  async respond(exchange: Exchange): Promise<JsonReply> {
    const path = exchange.path.slice(this.#area.length + 2);
    const build = await this.#current(path.startsWith(hashedFolder));
    if (build === null) return notBuiltPage(exchange.headers['accept-language']);
    const file =
      build.files.get(path) ?? (path.startsWith(hashedFolder) ? undefined : build.files.get(indexFile));
    if (file === undefined) return missingAsset;
    return replyWith(file, exchange);
  }

  /**
   * The build; read again when `index.html` is another one. A hashed file never changes, so it
   * needs no look at the disk.
   */
  async #current(isHashed: boolean): Promise<Build | null> {
    if (isHashed && this.#build !== null) return this.#build;
    const builtMs = await stat(join(this.#folder, indexFile)).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    );
    if (builtMs === null) return null;
    if (this.#build?.builtMs === builtMs) return this.#build;
    this.#reading ??= readBuild(this.#folder, builtMs).finally(() => {
      this.#reading = null;
    });
    this.#build = await this.#reading;
    return this.#build;
  }
}

const missingAsset: JsonReply = {
  status: 404,
  body: Buffer.from('not found\n'),
  contentType: 'text/plain; charset=utf-8',
};

function replyWith(file: BuiltFile, { headers }: Exchange): JsonReply {
  const common = { ETag: file.etag, 'Cache-Control': file.cacheControl, Vary: 'Accept-Encoding' };
  const { contentType } = file;
  if (headers['if-none-match']?.split(',').some((tag) => tag.trim() === file.etag) === true)
    return { status: 304, headers: common, body: Buffer.alloc(0), contentType };
  const accepted = acceptedEncodings(headers['accept-encoding']);
  const [encoding, body] =
    file.br !== null && accepted.has('br')
      ? (['br', file.br] as const)
      : file.gzip !== null && accepted.has('gzip')
        ? (['gzip', file.gzip] as const)
        : [null, file.plain];
  return {
    headers: { ...common, ...(encoding === null ? {} : { 'Content-Encoding': encoding }) },
    body,
    contentType,
  };
}

function acceptedEncodings(header: string | readonly string[] | undefined): ReadonlySet<string> {
  const entries = String(header ?? '').split(',');
  return new Set(
    entries
      .map((entry) => entry.split(';').map((part) => part.trim().toLowerCase()))
      .filter(([, ...rest]) => !rest.some((part) => /^q=0(?:\.0*)?$/.test(part)))
      .map(([name = '']) => name),
  );
}

/** Null when the folder went away while it was read. */
async function readBuild(folder: string, builtMs: number): Promise<Build | null> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const names = entries
      .filter((entry) => entry.isFile())
      .map((entry) =>
        join(entry.parentPath, entry.name)
          .slice(folder.length + 1)
          .replaceAll(sep, '/'),
      );
    const present = new Set(names);
    const files = new Map<string, BuiltFile>();
    for (const name of names) {
      if (/\.(?:br|gz)$/.test(name)) continue;
      const compressed = (suffix: string) =>
        present.has(name + suffix) ? readFile(join(folder, name + suffix)) : null;
      files.set(name, await fileOf(name, await readFile(join(folder, name)), compressed));
    }
    return { builtMs, files };
  } catch {
    return null;
  }
}

async function fileOf(
  name: string,
  plain: Buffer,
  compressed: (suffix: string) => Promise<Buffer> | null,
): Promise<BuiltFile> {
  return {
    contentType: contentTypes[extname(name)] ?? 'application/octet-stream',
    etag: `"${hash('sha256', plain, 'base64url').slice(0, 22)}"`,
    cacheControl: name.startsWith(hashedFolder)
      ? 'public, max-age=31536000, immutable'
      : name === indexFile
        ? 'no-store'
        : 'no-cache',
    plain,
    br: await compressed('.br'),
    gzip: await compressed('.gz'),
  };
}
