import type { Config } from '../config/config.ts';
import type { Identity } from '../identity/identity.ts';
import { createOperatorService, type OperatorService } from '../operations/operator-service.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';

/** The configuration file of a server. */
export interface ConfigFile {
  /** Reads it; throws an `OperatorError` that lists its faults. */
  readonly read: () => Config;
  /** The same for a publication, which keeps the model metadata that it uses. */
  readonly readToPublish: () => Config;
}

/**
 * The use cases of the command line for the console, on the database of the process. Each act names
 * the operator of its session.
 */
export function openConsoleOperations(
  database: Database,
  clock: Clock,
  { keys, auth }: Pick<Config, 'keys' | 'auth'>,
  { identity, file }: { readonly identity: Identity; readonly file: ConfigFile },
): OperatorService {
  return createOperatorService(database, {
    clock,
    keyPrefix: keys.prefix,
    maxKeysPerAccount: keys.maxPerAccount,
    supportCreditLimit: auth.supportCreditLimitKrw,
    identity,
    catalogue: {
      get config() {
        return file.read();
      },
      configToPublish: file.readToPublish,
    },
    close: async () => {},
  });
}
