import type { Config } from '../config/config.ts';
import { urlOf } from '../http/urls.ts';
import { createDemoAccount } from '../operations/demo-account.ts';
import { createOperatorService } from '../operations/operator-service.ts';
import type { DataDirLock } from '../postgres/data-dir-lock.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import type { ProcessContext } from './process-context.ts';
import { welcome, welcomeRow } from './startup-banner.ts';

/** What the announcement of a server needs. */
export interface AnnounceParts {
  readonly config: Config;
  readonly database: Database;
  readonly clock: Clock;
  readonly lock: DataDirLock;
  readonly proc: ProcessContext;
  readonly json: boolean;
  readonly logLine: (line: string) => void;
  /** Where the log is written, unless to stderr. */
  readonly note: string | null;
  readonly port: number;
  readonly adminPort: number;
}

/**
 * Prints where the server listens, and on the first start the links and keys of the demo account.
 */
export async function announce(parts: AnnounceParts): Promise<void> {
  const { config, database, clock, lock, proc, json, note, logLine, port, adminPort } = parts;
  const url = urlOf(config.listen.host, port);
  lock.describe(`naru up, listening on ${url}`);
  const operator = createOperatorService(database, {
    clock,
    keyPrefix: config.keys.prefix,
    close: async () => {},
  });
  const demo = await createDemoAccount(operator, database);
  const ports = { listen: port, admin: adminPort };
  if (demo !== null)
    await proc.out(json ? row(welcomeRow(demo, config, ports)) : welcome(demo, config, ports));
  if (note !== null) logLine(note);
  const listening = { event: 'listening', url, admin_port: adminPort };
  await proc.out(json ? row(listening) : `listening on ${url}\n`);
}

function row(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
