import type { Config } from '../config/config.ts';
import type { Identity } from '../identity/identity.ts';
import { createOperatorService, type OperatorService } from '../operations/operator-service.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';

/**
 * The use cases of the command line for the console, on the database of the process. Each act names
 * the operator of its session.
 */
export function openConsoleOperations(
  database: Database,
  clock: Clock,
  { keys, auth }: Pick<Config, 'keys' | 'auth'>,
  identity: Identity,
): OperatorService {
  return createOperatorService(database, {
    clock,
    keyPrefix: keys.prefix,
    maxKeysPerAccount: keys.maxPerAccount,
    supportCreditLimit: auth.supportCreditLimit,
    identity,
    close: async () => {},
  });
}
