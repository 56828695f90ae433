import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * A start keeps the last 4 to 8 MiB of its engine's output: a file, and the previous one with `.1`
 * appended to its name.
 */
const fileBytesMax = 4 * 1024 * 1024;

/**
 * The output that may wait for a slow disk. Beyond it the oldest is dropped and counted: the pipe
 * must be drained, and the last lines show why an engine exited.
 */
const pendingBytesMax = 1024 * 1024;

/** The last output in which the error is looked for: some programs print their whole help after it. */
const tailBytes = 8192;

/** Starts whose logs are kept. */
const logsKept = 10;

/** The log of one start. Accepts everything at once and never blocks (design.md, L1). */
export interface EngineLog {
  write(chunk: Buffer): void;
  /**
   * The last line that has an error, else the last one, at most 200 characters, without the box
   * that some programs draw around it; empty when there was none.
   */
  lastError(): string;
  /** Writes pending output and closes the file. */
  end(): Promise<void>;
}

/**
 * A log at `path`, created with the first output; `onError` receives the first failure, after which
 * nothing is kept.
 */
export function openEngineLog(path: string, onError: (thrown: unknown) => void): EngineLog {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let droppedBytes = 0;
  let tail = Buffer.alloc(0);
  let file: FileHandle | null = null;
  let fileBytes = 0;
  let broken = false;
  let pumping: Promise<void> | null = null;

  const put = async (bytes: Buffer): Promise<void> => {
    if (file !== null && fileBytes + bytes.length > fileBytesMax) {
      await file.close();
      file = null;
      await rename(path, `${path}.1`);
    }
    if (file === null) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      file = await open(path, 'w', 0o600);
      fileBytes = 0;
    }
    await file.appendFile(bytes);
    fileBytes += bytes.length;
  };

  const pump = async (): Promise<void> => {
    try {
      while (pendingBytes > 0 && !broken) {
        const note = `\n[naru: ${droppedBytes} bytes dropped, the disk was slower than the engine]\n`;
        const bytes = Buffer.concat(droppedBytes === 0 ? pending : [Buffer.from(note), ...pending]);
        pending = [];
        pendingBytes = 0;
        droppedBytes = 0;
        await put(bytes);
      }
    } catch (thrown) {
      broken = true;
      onError(thrown);
    } finally {
      pumping = null;
    }
  };

  return {
    write(chunk) {
      tail = Buffer.concat([tail, chunk.subarray(-tailBytes)]).subarray(-tailBytes);
      if (broken || chunk.length === 0) return;
      pending.push(chunk);
      pendingBytes += chunk.length;
      while (pendingBytes > pendingBytesMax) {
        const maxOldBytes = pending.shift()?.length ?? 0;
        pendingBytes -= maxOldBytes;
        droppedBytes += maxOldBytes;
      }
      pumping ??= pump();
    },
    lastError() {
      const lines = tail.toString('utf8').split('\n').map(withoutBox);
      const last = lines.findLast((line) => errorWords.test(line)) ?? lines.findLast((line) => line !== '');
      return (last ?? '').slice(-200);
    },
    async end() {
      while (pumping !== null) await pumping;
      broken = true;
      await file?.close();
      file = null;
    },
  };
}

/** Some programs go on after their error: with a hint, or with how they shut down. */
const errorWords =
  /error|exception|fail|no such|not found|cannot|unable|invalid|unknown|unrecognized|missing|denied|in use|out of memory/i;

/** The line without spaces and box characters around it. */
function withoutBox(line: string): string {
  const isFrame = (at: number) => /[\s\u2500-\u257f]/.test(line[at] ?? 'x');
  let from = 0;
  let to = line.length;
  while (isFrame(from)) from += 1;
  while (to > from && isFrame(to - 1)) to -= 1;
  return line.slice(from, to);
}

/** Removes all but the last ten logs of a folder. Their names sort by time. */
export async function pruneEngineLogs(dir: string): Promise<void> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => /\.log(\.1)?$/.test(name));
  const starts = [...new Set(names.map((name) => name.replace(/\.1$/, '')))].toSorted();
  const old = new Set(starts.slice(0, -logsKept));
  for (const name of names) if (old.has(name.replace(/\.1$/, ''))) await rm(join(dir, name), { force: true });
}
