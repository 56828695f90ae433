import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { type CliPaths, readConfig } from '../app/config-source.ts';
import type { ProcessContext } from '../app/process-context.ts';
import { OperatorError } from '../errors/operator-error.ts';

/** The units that ship with Naru, and the places that they name. */
const template = {
  file: 'deploy/naru.service',
  socketFile: 'deploy/naru.socket',
  socket: 'naru.socket',
  listen: '127.0.0.1:8787',
  program: '/opt/naru/bin/naru',
  root: '/opt/naru',
  config: '/etc/naru/naru.yaml',
  dataDir: '/var/lib/naru',
  user: 'User=naru\n',
  state: 'StateDirectory=naru\nStateDirectoryMode=0700\n',
  home: 'ProtectHome=yes\n',
};

/** The arguments of `naru install-service`. */
export interface ServiceOrder {
  readonly user: string;
  /** The file of the service, `NAME.service`; that of its socket is beside it. */
  readonly to: string;
  /** `HOST:PORT`, where the socket listens. */
  readonly listen: string;
  /** Write the units; otherwise they are only printed. */
  readonly write: boolean;
  /** Replace different files. */
  readonly replace: boolean;
}

/** A unit of systemd. */
export interface Unit {
  readonly file: string;
  readonly text: string;
}

/** The outcome of `naru install-service`. */
export interface ServiceDone {
  readonly service: Unit;
  readonly socket: Unit;
  readonly written: boolean;
  /** What the service needs and this machine lacks, each with what to do. */
  readonly missing: readonly string[];
}

/** The places that a unit names. */
interface ServicePlaces {
  readonly config: string;
  readonly dataDir: string;
  /** The folder of the configured backups when it is outside the data directory, else null. */
  readonly backups: string | null;
  /** Whether the configuration exists and has faults. */
  readonly isFaulty: boolean;
}

/** Makes systemd units for this installation and writes them if the operator confirmed that. */
export function installService(paths: CliPaths, order: ServiceOrder, proc: ProcessContext): ServiceDone {
  const file = resolve(proc.cwd, order.to);
  if (!file.endsWith('.service')) throw new OperatorError(`--to ${file} must end in .service`);
  const socketFile = file.replace(/service$/, 'socket');
  const places = placesOf(paths, proc);
  const text = serviceText(places, order.user, proc).replace(template.socket, () => basename(socketFile));
  const socketText = readFileSync(join(proc.root, template.socketFile), 'utf8').replace(
    `=${template.listen}\n`,
    () => `=${order.listen}\n`,
  );
  const service = { file, text };
  const socket = { file: socketFile, text: socketText };
  const missing = missingOf(places, order.user, proc);
  if (!order.write) return { service, socket, written: false, missing };
  if (!order.replace) for (const unit of [service, socket]) assertSame(unit);
  for (const unit of [service, socket]) writeUnit(unit);
  return { service, socket, written: true, missing };
}

function assertSame({ file, text }: Unit): void {
  if (existsSync(file) && readFileSync(file, 'utf8') !== text)
    throw new OperatorError(`${file} exists and differs: compare it, then pass --replace`);
}

function writeUnit({ file, text }: Unit): void {
  try {
    writeFileSync(file, text, { mode: 0o644 });
  } catch (error) {
    throw new OperatorError(`cannot write ${file}: ${(error as Error).message}`);
  }
}

function placesOf(paths: CliPaths, proc: ProcessContext): ServicePlaces {
  const config = resolve(proc.cwd, paths.config ?? template.config);
  const dataDir = resolve(proc.cwd, paths.dataDir ?? template.dataDir);
  if (!existsSync(config)) return { config, dataDir, backups: null, isFaulty: false };
  try {
    const directory = readConfig({ dataDir, configFile: config }, proc).backup?.directory ?? null;
    const isInside = directory === null || `${directory}/`.startsWith(`${dataDir}/`);
    return { config, dataDir, backups: isInside ? null : directory, isFaulty: false };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { config, dataDir, backups: null, isFaulty: true };
  }
}

function missingOf(
  { config, dataDir, backups, isFaulty }: ServicePlaces,
  user: string,
  { root }: ProcessContext,
): readonly string[] {
  const missing: string[] = [];
  if (
    !readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .some((line) => line.startsWith(`${user}:`))
  )
    missing.push(`the user ${user}; run: useradd --system ${user}`);
  if (!existsSync(config)) missing.push(`${config}; docs/quick-start.md states how to create it`);
  if (isFaulty)
    missing.push(
      `a configuration without faults; run: ${join(root, 'bin/naru')} config check --config ${config}`,
    );
  // systemd creates the data directory of the template.
  for (const folder of [dataDir === template.dataDir ? null : dataDir, backups])
    if (folder !== null && !existsSync(folder))
      missing.push(`${folder}; run: install -d -o ${user} -m 0700 ${folder}`);
  return missing;
}

function serviceText(
  { config, dataDir, backups }: ServicePlaces,
  user: string,
  { root }: ProcessContext,
): string {
  const named = [root, config, dataDir, ...(backups === null ? [] : [backups])];
  // systemd gives spaces, quotes, % and $ a meaning of their own.
  for (const path of named)
    if (!/^[\w@./+-]+$/.test(path)) throw new OperatorError(`a unit cannot name the path ${path}`);
  const isOwnState = dataDir === template.dataDir;
  const isInHome = named.some((path) => /^\/(?:home|root|run\/user)\//.test(path));
  return readFileSync(join(root, template.file), 'utf8')
    .replaceAll(template.program, () => join(root, 'bin/naru'))
    .replaceAll(`cd ${template.root} `, () => `cd ${root} `)
    .replaceAll(template.config, () => config)
    .replace(template.user, () => `User=${user}\n`)
    .replace(
      template.state,
      () =>
        // `-`: a disk that is not mounted fails the backup and not the start.
        `${isOwnState ? template.state : `ReadWritePaths=${dataDir}\n`}${backups === null ? '' : `ReadWritePaths=-${backups}\n`}`,
    )
    .replace(template.home, isInHome ? 'ProtectHome=read-only\n' : template.home)
    .replaceAll(`--data-dir ${template.dataDir}\n`, () => `--data-dir ${dataDir}\n`);
}
