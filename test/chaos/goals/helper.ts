import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';

const root = join(import.meta.dirname, '../../..');

/** A process beside the server that answers lines with lines. */
export interface Helper {
  /** The first line that it printed. */
  readonly first: string;
  send(line: string): void;
  /** The next line that it prints. */
  next(): Promise<string>;
  end(): Promise<void>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
}

/**
 * Starts a program of the repository; resolves when it has printed a line. It ends with its
 * standard input, or when it has no more to do.
 */
export function startHelper(file: string, ...args: readonly string[]): Promise<Helper> {
  return startHelperUnder([], file, ...args);
}

/** The same under a command and its arguments. */
export async function startHelperUnder(
  wrapper: readonly string[],
  file: string,
  ...args: readonly string[]
): Promise<Helper> {
  const [command = '', ...words] = [...wrapper, process.execPath, join(root, file), ...args];
  const child = spawn(command, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.on('error', () => {});
  const gone = once(child, 'exit');
  const lines: Interface = createInterface({ input: child.stdout });
  const next = (): Promise<string> =>
    Promise.race([
      once(lines, 'line').then(([line]) => String(line)),
      gone.then(() => {
        throw new Error(`${file} ended without a word`);
      }),
    ]);
  return {
    first: await next(),
    send: (line) => void child.stdin.write(`${line}\n`),
    next,
    async end() {
      child.stdin.end();
      const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await gone;
      clearTimeout(timer);
    },
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}
