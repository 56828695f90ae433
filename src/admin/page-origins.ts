import { type CliPaths, readConfig, settingsOf } from '../app/config-source.ts';
import type { ProcessContext } from '../app/process-context.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { type PageOrigins, pageOrigins } from '../identity/page-links.ts';
import { callServer } from './control-client.ts';

const responseTimeoutMs = 5_000;

/**
 * The origins of the server of a data directory, which may listen elsewhere than its configuration
 * says; else those of the configuration.
 */
export async function readPageOrigins(paths: CliPaths, proc: ProcessContext): Promise<PageOrigins> {
  const settings = settingsOf(paths, proc);
  try {
    const response = await callServer(settings.dataDir, {
      method: 'GET',
      path: '/origins',
      limitMs: responseTimeoutMs,
    });
    const { dashboard, console } = response as Partial<PageOrigins>;
    if (typeof dashboard === 'string' && typeof console === 'string') return { dashboard, console };
  } catch (error) {
    // Without a server, or beside one of another version, the configuration is what there is.
    if (!(error instanceof OperatorError)) throw error;
  }
  return pageOrigins(readConfig(settings, proc));
}
