import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { type Clock, pause } from '../time/clock.ts';

/** The log of one start, as written by `engine-log.ts` (design.md, L1). */
export interface StartLog {
  /** When the engine was started, ISO 8601. */
  readonly startedAt: string;
  readonly path: string;
}

/** One line of a log, without its end. */
export interface LogLine {
  readonly startedAt: string;
  readonly line: string;
}

const chunkBytes = 64 * 1024;
/** A longer line is returned in pieces of this size. */
const maxLineLength = 256 * 1024;
/** How often a followed log is polled. */
const lookEveryMs = 200;

/**
 * The logs of a slot, newest first; empty when there was no output. Throws when they cannot be
 * read.
 */
export async function startLogs(dataDir: string, slot: string): Promise<readonly StartLog[]> {
  const dir = join(dataDir, 'slots', slot);
  const names = await readdir(dir).catch((thrown) => {
    if (thrown.code === 'ENOENT' || thrown.code === 'ENOTDIR') return [];
    throw thrown;
  });
  return names
    .filter((name) => name.endsWith('.log'))
    .toSorted()
    .reverse()
    .map((name) => ({ startedAt: startedAt(name), path: join(dir, name) }));
}

/** The lines of a log, or its last `last` lines. */
export async function* readLog(log: StartLog, last: number | null): AsyncGenerator<LogLine> {
  const reader = new LogReader(log);
  try {
    yield* lastOf(reader.rest(true), last);
  } finally {
    await reader.close();
  }
}

/**
 * The lines of a log as above, and new ones, until `signal` aborts, which ends it without an error.
 * Without a `log` it follows the slot: each start, from the newest on, or the first one when there
 * is none yet.
 */
export async function* followLog(
  from: { readonly dataDir: string; readonly slot: string; readonly log: StartLog | null },
  last: number | null,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const newest = async (): Promise<StartLog | null> =>
    from.log ?? (await startLogs(from.dataDir, from.slot))[0] ?? null;
  let log = await newest();
  let reader = log === null ? null : new LogReader(log);
  try {
    if (reader !== null) yield* lastOf(reader.rest(false), last);
    while (!signal.aborted) {
      const next = await newest();
      // Output written before the next start began is read to its end.
      if (reader !== null) yield* reader.rest(next?.path !== log?.path);
      if (next !== null && next.path !== log?.path) {
        await reader?.close();
        log = next;
        reader = new LogReader(next);
        continue;
      }
      await pause(clock, lookEveryMs, signal).catch(() => {});
    }
  } finally {
    await reader?.close();
  }
}

/** Reads one start's log from its beginning, across the file rotation at 4 MiB. */
class LogReader {
  readonly #log: StartLog;
  #file: FileHandle | null = null;
  #decoder = new StringDecoder('utf8');
  #open = '';
  #isFirst = true;

  constructor(log: StartLog) {
    this.#log = log;
  }

  /** The unread lines so far; an incomplete last line only when `isOver`. */
  async *rest(isOver: boolean): AsyncGenerator<LogLine> {
    for (;;) {
      this.#file ??= await this.#next();
      if (this.#file === null) break;
      yield* this.#lines(this.#file);
      if (!(await this.#wasReplaced(this.#file))) break;
      // More may have been written between the last read and the rotation.
      yield* this.#lines(this.#file);
      await this.#file.close();
      this.#file = null;
    }
    if (!isOver || this.#open === '') return;
    yield this.#line(this.#open);
    this.#open = '';
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
  }

  /** The file to read next: the older part first, then the current file. */
  async #next(): Promise<FileHandle | null> {
    const older = this.#isFirst ? await openIfThere(`${this.#log.path}.1`) : null;
    const file = older ?? (await openIfThere(this.#log.path));
    if (file !== null) this.#isFirst = false;
    return file;
  }

  async #wasReplaced(file: FileHandle): Promise<boolean> {
    const named = await stat(this.#log.path).catch(() => null);
    return named !== null && named.ino !== (await file.stat()).ino;
  }

  async *#lines(file: FileHandle): AsyncGenerator<LogLine> {
    const chunk = Buffer.alloc(chunkBytes);
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunkBytes);
      if (bytesRead === 0) return;
      const pieces = (this.#open + this.#decoder.write(chunk.subarray(0, bytesRead))).split('\n');
      this.#open = pieces.pop() ?? '';
      for (const line of pieces) yield this.#line(line);
      if (this.#open.length < maxLineLength) continue;
      yield this.#line(this.#open);
      this.#open = '';
    }
  }

  #line(text: string): LogLine {
    return { startedAt: this.#log.startedAt, line: text.replace(/\r$/, '') };
  }
}

async function* lastOf(lines: AsyncIterable<LogLine>, last: number | null): AsyncGenerator<LogLine> {
  if (last === null) return yield* lines;
  const kept: LogLine[] = [];
  for await (const line of lines) {
    kept.push(line);
    // Trimmed now and then, not with every line.
    if (kept.length > 2 * last + 1000) kept.splice(0, kept.length - last);
  }
  yield* last === 0 ? [] : kept.slice(-last);
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  return open(path, 'r').catch((thrown) => {
    if (thrown.code === 'ENOENT') return null;
    throw thrown;
  });
}

/** The time in a log's name, which has dashes where ISO 8601 has colons. */
function startedAt(name: string): string {
  return name.replace(/\.log$/, '').replace(/T(\d\d)-(\d\d)-(\d\d)/, 'T$1:$2:$3');
}
