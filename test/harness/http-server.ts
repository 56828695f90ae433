import type { TestContext } from 'node:test';
import { ClientAddresses } from '../../src/http/client-ip.ts';
import { type ConnectionTimeouts, type Served, serve } from '../../src/http/serve.ts';
import type { ServeParts } from '../../src/http/serve-parts.ts';
import { silentLog } from '../../src/log/log.ts';
import { systemClock } from '../../src/time/clock.ts';

/**
 * The HTTP server alone, on a free port, which closes with the test: it responds to everything with
 * `{}`, without limits of clients, unless `parts` differ.
 */
export async function startHttpServer(
  t: TestContext,
  parts: Partial<ServeParts> = {},
  timeouts?: ConnectionTimeouts,
): Promise<Served> {
  const served = await serve(
    {
      respond: async () => ({ body: {} }),
      addresses: new ClientAddresses([]),
      rateLimit: null,
      idleWhileStoppingMs: 0,
      maxBodyBytes: 1_000_000,
      clientStallMs: 60_000,
      clock: systemClock,
      log: silentLog,
      ...parts,
    },
    { host: '127.0.0.1', port: 0 },
    timeouts,
  );
  t.after(() => served.close());
  return served;
}
