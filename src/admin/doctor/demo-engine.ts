import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import type { ProcessContext } from '../../app/process-context.ts';
import { runCommand } from '../../postgres/run-command.ts';
import type { Finding } from './findings.ts';

/**
 * Checks that the native binding of the demo engine loads, in a child process: a bad binary kills
 * the process that loads it.
 */
export async function examineDemoEngine(slot: string, proc: ProcessContext): Promise<Finding> {
  const name = `slot ${slot}`;
  const binding = `@fugood/node-llama-${platform()}-${arch()}`;
  let path: string;
  try {
    path = createRequire(join(proc.root, 'package.json')).resolve(binding);
  } catch {
    return { name, ok: false, message: `${binding} is not installed: run npm install` };
  }
  const { ok, output } = await runCommand(proc.nodePath, ['--require', path, '--eval', '0'], {
    user: null,
    env: proc.env,
    timeoutMs: 20_000,
  });
  if (ok) return { name, ok, message: 'the demo engine can be loaded' };
  const reason = /Error: (.*)/.exec(output)?.[1] ?? output.trim().split('\n').at(-1) ?? 'unknown reason';
  const remedy = output.includes('libgomp')
    ? ': install it (apt install libgomp1, dnf install libgomp, apk add libgomp)'
    : '';
  return { name, ok, message: `the demo engine cannot be loaded: ${reason}${remedy}` };
}
