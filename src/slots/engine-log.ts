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

/** Starts whose logs are kept. */
const logsKept = 10;

/** The log of one start. Accepts everything at once and never blocks (design.md, L1). */
export interface EngineLog {
  write(chunk: Buffer): void;
  /** The last line that was not blank, at most 200 characters; empty when there was none. */
  lastLine(): string;
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
      tail = Buffer.concat([tail, chunk.subarray(-1000)]).subarray(-1000);
      if (broken) return;
      pending.push(chunk);
      pendingBytes += chunk.length;
      while (pendingBytes > pendingBytesMax) {
        const maxOldBytes = pending.shift()?.length ?? 0;
        pendingBytes -= maxOldBytes;
        droppedBytes += maxOldBytes;
      }
      pumping ??= pump();
    },
    lastLine: () => tail.toString('utf8').trimEnd().split('\n').at(-1)?.trim().slice(-200) ?? '',
    async end() {
      while (pumping !== null) await pumping;
      broken = true;
      await file?.close();
      file = null;
    },
  };
}

/** Removes all but the last ten logs of a folder. Their names sort by time. */
export async function pruneEngineLogs(dir: string): Promise<void> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => /\.log(\.1)?$/.test(name));
  const starts = [...new Set(names.map((name) => name.replace(/\.1$/, '')))].toSorted();
  const old = new Set(starts.slice(0, -logsKept));
  for (const name of names) if (old.has(name.replace(/\.1$/, ''))) await rm(join(dir, name), { force: true });
}
