import assert from 'node:assert/strict';
import type { CliContext } from '../../src/cli/context.ts';
import { runCli } from '../../src/cli/program.ts';

/**
 * The exit code and the output of the command line parser: 2 for a usage error. No command is
 * carried out.
 */
export async function parseCommand(
  words: readonly string[],
): Promise<{ readonly code: number; readonly output: string }> {
  let output = '';
  const write = (text: string): void => {
    output += text;
  };
  // Whatever else a command needs of its process, it was parsed.
  const env = new Proxy({}, { get: () => assert.fail('understood') });
  const shown = { out: async (text: string) => write(text), err: write, version: '0', env, isWatched: false };
  const cli = shown as Partial<CliContext> as CliContext;
  const code = await runCli(cli, words).catch(() => 0);
  // `up` prints why it failed.
  return { code: output.includes('understood') ? 0 : code, output };
}
