import type { Office } from './cli/office.ts';
import type { Places } from './cli/shell.ts';
import { openOffice } from './office.ts';
import { openDatabaseBeside } from './open-database.ts';
import { readConfig, readConfigToPublish, settingsOf } from './settings.ts';
import { migrate } from './store/migrate.ts';
import type { Surroundings } from './surroundings.ts';
import { systemClock } from './time/clock.ts';

/** Opens the office for one command, on the database of the configuration; the caller closes it. */
export async function openOfficeOf(places: Places, around: Surroundings): Promise<Office> {
  const settings = settingsOf(places, around);
  const config = readConfig(settings, around);
  const { database, close } = await openDatabaseBeside(config, settings.dataDir, around);
  try {
    await migrate(database);
  } catch (error) {
    await close();
    throw error;
  }
  return openOffice(database, {
    clock: systemClock,
    keyPrefix: config.keys.prefix,
    maxKeysPerAccount: config.keys.maxPerAccount,
    catalogue: { config, configToPublish: () => readConfigToPublish(settings, around) },
    datasets: config.datasets,
    close,
  });
}
