import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CliPaths, faultsOf, readConfig, type Settings, settingsOf } from '../../app/config-source.ts';
import { demoEngineFile } from '../../app/default-config.ts';
import type { ProcessContext } from '../../app/process-context.ts';
import type { Config } from '../../config/config.ts';
import { defaultPorts } from '../../config/defaults.ts';
import { counted } from '../../errors/counted.ts';
import { OperatorError } from '../../errors/operator-error.ts';
import { readCertificateExpiry } from '../../http/certificate-watch.ts';
import { tryListen } from '../../http/listen-address.ts';
import { readAlarms } from '../../operations/alarms.ts';
import { findBinaries, packagedMajor } from '../../postgres/binaries.ts';
import { clusterMajor } from '../../postgres/cluster.ts';
import { clusterDirOf } from '../../postgres/cluster-dir.ts';
import { attachEmbedded } from '../../postgres/embedded.ts';
import { serverUser } from '../../postgres/server-user.ts';
import { workerDirs } from '../../postgres/worker-dir.ts';
import { programFault } from '../../slots/programs.ts';
import { Database } from '../../store/database.ts';
import { DatabaseClock } from '../../store/database-clock.ts';
import { durabilityFaults, readDurability, readServerVersion } from '../../store/durability.ts';
import { countMigrations, knownMigrations } from '../../store/migrate.ts';
import { findSchemaFaults } from '../../store/schema-sql.ts';
import { maxClockSkewMs, systemClock } from '../../time/clock.ts';
import { formatError } from '../format-error.ts';
import { examineBackups } from './backups.ts';
import { examineDemoEngine } from './demo-engine.ts';
import {
  examineMetadata,
  examinePrices,
  examineRetention,
  examineServers,
  type Finding,
} from './findings.ts';

const minNodeVersion = 26;
const minDatabaseVersion = 15;
/** As NaruCertificateExpiring of deploy/prometheus. */
const certificateWarningDays = 14;
const smallDiskBytes = 1_000_000_000;
/** How many differences of the schema are shown. */
const maxFaults = 10;

/**
 * `naru doctor`: checks everything that Naru needs to serve; a failed check has a remedy. Online it
 * also calls what the configuration names outside. Changes nothing of note.
 */
export async function examine(
  paths: CliPaths,
  proc: ProcessContext,
  isOnline = false,
): Promise<readonly Finding[]> {
  const findings = [node(proc)];
  const settings = settingsOf(paths, proc);
  const { file, faults, warnings } = faultsOf(settings, proc);
  findings.push(...warnings.map((message) => bad('configuration rights', message)));
  if (faults.length > 0) return [...findings, bad('configuration', faults.join('\n'))];
  findings.push(good('configuration', `${file}: no faults`));
  const config = readConfig(settings, proc);
  findings.push(...examineMetadata(config, systemClock.now()));
  const running = runningHere(settings.dataDir);
  findings.push(dataDir(settings));
  findings.push(...foreignSegments(settings.dataDir));
  findings.push(await check('database', () => database(config, settings.dataDir, proc)));
  findings.push(...(await onDatabase(config, settings.dataDir, clockSkew)));
  findings.push(...(await onDatabase(config, settings.dataDir, alarms)));
  findings.push(...(await onDatabase(config, settings.dataDir, schema)));
  findings.push(...(await onDatabase(config, settings.dataDir, examinePrices)));
  findings.push(...(await onDatabase(config, settings.dataDir, examineServers)));
  findings.push(...(await onDatabase(config, settings.dataDir, examineRetention)));
  findings.push(
    ...(await onDatabase(config, settings.dataDir, (opened) => examineBackups(config.backup, opened))),
  );
  const { auth, admin } = config;
  for (const url of [auth.publicUrl, admin.publicUrl]) findings.push(...(await certificate(url)));
  findings.push(await address('port', config.listen, running));
  findings.push(await address('admin port', config.admin, running));
  findings.push(...(await engines(config, proc)));
  if (isOnline) findings.push(...(await (await import('./online.ts')).examineOnline(config)));
  return findings;
}

function node({ nodeVersion, nodePath }: ProcessContext): Finding {
  const isNew = Number.parseInt(nodeVersion, 10) >= minNodeVersion;
  const message = `${nodeVersion} (${nodePath})`;
  return isNew
    ? good('node', message)
    : bad('node', `${message} is too old: run bin/naru or npm start, which use the bundled Node`);
}

function dataDir({ dataDir: dir }: Settings): Finding {
  let existing = dir;
  while (!existsSync(existing)) existing = dirname(existing);
  try {
    accessSync(existing, constants.R_OK | constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(existing);
    const free = bavail * bsize;
    const message = `${dir}${existing === dir ? '' : ' (not created yet)'}, ${(free / 1e9).toFixed(1)} GB free`;
    return free < smallDiskBytes
      ? bad('data directory', `${message}: too little; free at least 1 GB`)
      : good('data directory', message);
  } catch (error) {
    return bad('data directory', `${dir}: ${formatError(error)}: choose another with --data-dir`);
  }
}

/** Journal segments in this data directory that belong to another database or node. */
function foreignSegments(dir: string): readonly Finding[] {
  return [dir, ...workerDirs(dir)].flatMap((home) => {
    const journal = join(home, 'journal');
    if (!existsSync(journal)) return [];
    const { length } = readdirSync(journal).filter((name) => name.endsWith('.foreign'));
    if (length === 0) return [];
    const message = `${journal} has ${counted(length, 'segment')} of another database or node, set aside at a start: on that database, run naru node recover ${journal}`;
    return [bad('journal', message)];
  });
}

async function database(config: Config, dir: string, proc: ProcessContext): Promise<string> {
  const { url } = config.database;
  if (url !== 'embedded')
    return reportServer(
      new Database({ connectionString: url.reveal() }, 1),
      'the server of database.url',
      (server) => durabilityFaults(server, config.settlement.keepSettledMs),
    );
  const running = await runningEmbedded(dir);
  if (running !== null) return reportServer(new Database(running, 1), 'the embedded server');
  const cluster = clusterDirOf(dir);
  const user = serverUser(proc.uid, cluster);
  const { env, uid } = proc;
  const needMajor = clusterMajor(cluster);
  const { binDir, major } = await findBinaries({
    uid,
    user,
    env,
    dataDir: dir,
    needMajor,
    progress: () => {},
  });
  const packaged = packagedMajor();
  const newer =
    packaged !== null && packaged > major ? `; naru database upgrade moves it to PostgreSQL ${packaged}` : '';
  return `embedded PostgreSQL ${major} (${binDir})${user === null ? '' : `, runs as ${user.name}`}, not running${newer}`;
}

/** The findings of `look` on the database; none when it is not running or lacks the schema. */
async function onDatabase(
  { database: { url } }: Config,
  dir: string,
  look: (database: Database) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const address = url !== 'embedded' ? { connectionString: url.reveal() } : await runningEmbedded(dir);
  if (address === null) return [];
  const opened = new Database(address, 1);
  try {
    return await look(opened);
  } catch {
    return [];
  } finally {
    await opened.close();
  }
}

/**
 * Compares the clock of this machine with the database's, which decides when credit expires and
 * nodes count as lost.
 */
async function clockSkew(opened: Database): Promise<readonly Finding[]> {
  const { aheadMs } = await DatabaseClock.open(opened, systemClock);
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(3);
  const message = `${seconds} s ${aheadMs < 0 ? 'behind' : 'ahead of'} the clock of the database`;
  return Math.abs(aheadMs) > maxClockSkewMs
    ? [bad('clock', `${message}, more than ${maxClockSkewMs / 1000} s: synchronize both with NTP`)]
    : [good('clock', message)];
}

/** The certificate at a public address, which may not be reachable from this machine. */
async function certificate(publicUrl: string | null): Promise<readonly Finding[]> {
  if (!publicUrl?.startsWith('https:')) return [];
  const expiresAtMs = await readCertificateExpiry(publicUrl).catch(() => null);
  if (expiresAtMs === null) return [good('certificate', `${publicUrl} cannot be reached from here`)];
  const days = Math.floor((expiresAtMs - systemClock.now()) / 86_400_000);
  if (days < 0) return [bad('certificate', `that of ${publicUrl} has expired: renew it`)];
  const message = `that of ${publicUrl} expires in ${counted(days, 'day')}`;
  return [
    days < certificateWarningDays ? bad('certificate', `${message}: renew it`) : good('certificate', message),
  ];
}

/**
 * Compares the guards of the ledger with the schema, unless the next start has steps of it to take.
 */
async function schema(opened: Database): Promise<readonly Finding[]> {
  if ((await countMigrations(opened)) !== knownMigrations()) return [];
  const faults = await findSchemaFaults(opened);
  if (faults.length === 0) return [good('schema', 'the database has all of it')];
  const more =
    faults.length > maxFaults ? `\nand ${counted(faults.length - maxFaults, 'more difference')}` : '';
  const remedy = 'restore what is missing (docs/runbook.md), then run naru ledger verify';
  return [bad('schema', `${faults.slice(0, maxFaults).join('\n')}${more}\n${remedy}`)];
}

/** Problems with settlements that need the operator. */
async function alarms(opened: Database): Promise<readonly Finding[]> {
  const { quarantined, lostNodes } = await readAlarms(opened);
  return [
    ...(quarantined === 0
      ? []
      : [
          bad(
            'quarantine',
            `the database rejected ${counted(quarantined, 'settlement')}: run naru ledger quarantine`,
          ),
        ]),
    ...(lostNodes === 0
      ? []
      : [
          bad(
            'nodes',
            `${counted(lostNodes, 'lost node')} with charges perhaps in the journal: run naru node list`,
          ),
        ]),
  ];
}

async function runningEmbedded(dir: string): ReturnType<typeof attachEmbedded> {
  return existsSync(dir) ? attachEmbedded(dir) : null;
}

async function reportServer(
  opened: Database,
  what: string,
  unsafe: typeof durabilityFaults = () => [],
): Promise<string> {
  try {
    const version = await readServerVersion(opened);
    if (Number.parseInt(version, 10) < minDatabaseVersion)
      throw new OperatorError(`${what} is PostgreSQL ${version}: ${minDatabaseVersion} or newer is required`);
    const faults = unsafe(await readDurability(opened));
    // These settings can lose acknowledged charges.
    if (faults.length > 0) throw new OperatorError(`${what}: ${faults.join('; ')}`);
    return `${what}: PostgreSQL ${version}`;
  } finally {
    await opened.close();
  }
}

/** A description of the server that holds this data directory; null when there is none. */
function runningHere(dir: string): string | null {
  try {
    const { pid, describe } = JSON.parse(readFileSync(join(dir, 'naru.lock.json'), 'utf8')) as {
      readonly pid: number;
      readonly describe: string;
    };
    return `process ${pid} (${describe})`;
  } catch {
    return null;
  }
}

async function address(
  name: string,
  { host, port }: Config['listen'],
  running: string | null,
): Promise<Finding> {
  const error = await tryListen({ host, port });
  if (error === null) return good(name, `${host}:${port} is free`);
  const code = error.code ?? error.message;
  if (code === 'EADDRINUSE' && running !== null)
    return good(name, `${host}:${port}: in use by ${running}, which serves this data directory`);
  if (code === 'EADDRINUSE' && name === 'admin port' && port === defaultPorts.admin)
    return good(name, `${host}:${port} is in use by another program; Naru will use a free port`);
  const remedy = name === 'port' ? '--port, or listen.port in naru.yaml' : 'admin.port in naru.yaml';
  return bad(
    name,
    `${host}:${port}: ${code === 'EADDRINUSE' ? 'in use by another program' : code}: choose another with ${remedy}`,
  );
}

async function engines(config: Config, proc: ProcessContext): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const slot of config.slots) {
    const { name, driver } = slot;
    if (driver.kind !== 'process') continue;
    const [program = ''] = driver.command;
    const fault = programFault(slot);
    const isOurs = driver.command.includes(demoEngineFile);
    if (fault !== null) findings.push(bad(`slot ${name}`, fault));
    else if (isOurs) findings.push(await examineDemoEngine(name, proc));
    else findings.push(good(`slot ${name}`, program));
  }
  return findings;
}

async function check(name: string, work: () => Promise<string>): Promise<Finding> {
  try {
    return good(name, await work());
  } catch (error) {
    return bad(name, formatError(error));
  }
}

function good(name: string, message: string): Finding {
  return { name, ok: true, message };
}

function bad(name: string, message: string): Finding {
  return { name, ok: false, message };
}
