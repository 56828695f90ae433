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
  const shown = { out: async (text: string) => write(text), err: write, version: '0' };
  // Whatever else a command needs of its process, it was parsed.
  const cli = new Proxy(shown as CliContext, {
    get(context, name, receiver) {
      if (!Object.hasOwn(context, name)) throw new Error('understood');
      return Reflect.get(context, name, receiver);
    },
  });
  return { code: await runCli(cli, words).catch(() => 0), output };
}
