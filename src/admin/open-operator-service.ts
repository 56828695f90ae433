import { type CliPaths, readConfig, readConfigToPublish, settingsOf } from '../app/config-source.ts';
import { openDatabaseBeside } from '../app/database.ts';
import type { ProcessContext } from '../app/process-context.ts';
import type { OperatorService } from '../operations/operator-service.ts';
import { createOperatorService } from '../operations/operator-service.ts';
import { DatabaseClock } from '../store/database-clock.ts';
import { systemClock } from '../time/clock.ts';
import { migrateForCommand } from './migrate-for-command.ts';

/** Opens the operator service on the configured database for one command; the caller closes it. */
export async function openOperatorService(paths: CliPaths, proc: ProcessContext): Promise<OperatorService> {
  const settings = settingsOf(paths, proc);
  const config = readConfig(settings, proc);
  const { database, close } = await openDatabaseBeside(config, settings.dataDir, proc);
  try {
    await migrateForCommand(database);
    return createOperatorService(database, {
      clock: await DatabaseClock.open(database, systemClock),
      keyPrefix: config.keys.prefix,
      maxKeysPerAccount: config.keys.maxPerAccount,
      catalogue: { config, configToPublish: () => readConfigToPublish(settings, proc) },
      datasets: config.datasets,
      close,
    });
  } catch (error) {
    await close();
    throw error;
  }
}
