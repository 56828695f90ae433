import { type CliPaths, settingsOf } from '../app/config-source.ts';
import type { ProcessContext } from '../app/process-context.ts';
import type { ConsoleLinkRow } from '../identity/control-pages.ts';
import { callServer } from './control-client.ts';

const responseTimeoutMs = 10_000;

/**
 * Has the running server make a link to its console; throws an `OperatorError` when none runs, or
 * for an unknown operator.
 */
export async function openConsoleLink(
  paths: CliPaths,
  name: string | null,
  proc: ProcessContext,
): Promise<ConsoleLinkRow> {
  const { dataDir } = settingsOf(paths, proc);
  const query = new URLSearchParams({ by: proc.user, ...(name !== null && { name }) });
  const path = `/console?${query}`;
  return (await callServer(dataDir, { method: 'POST', path, limitMs: responseTimeoutMs })) as ConsoleLinkRow;
}
