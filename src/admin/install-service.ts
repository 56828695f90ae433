import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CliPaths } from '../app/cli-options.ts';
import type { ProcessContext } from '../app/process-context.ts';
import { OperatorError } from '../errors/operator-error.ts';

/** The unit that ships with Naru, and the places that it names. */
const template = {
  file: 'deploy/naru.service',
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
  /** The file of the unit. */
  readonly to: string;
  /** Write the unit; otherwise it is only printed. */
  readonly write: boolean;
  /** Replace a different file. */
  readonly replace: boolean;
}

/** The outcome of `naru install-service`. */
export interface ServiceDone {
  readonly unit: string;
  readonly file: string;
  readonly written: boolean;
}

/** Makes a systemd unit for this installation and writes it if the operator confirmed that. */
export function installService(paths: CliPaths, order: ServiceOrder, proc: ProcessContext): ServiceDone {
  const unit = unitOf(paths, order.user, proc);
  const file = resolve(proc.cwd, order.to);
  if (!order.write) return { unit, file, written: false };
  if (existsSync(file) && readFileSync(file, 'utf8') !== unit && !order.replace)
    throw new OperatorError(`${file} exists and differs: compare it, then pass --replace`);
  try {
    writeFileSync(file, unit, { mode: 0o644 });
  } catch (error) {
    throw new OperatorError(`cannot write ${file}: ${(error as Error).message}`);
  }
  return { unit, file, written: true };
}

function unitOf(paths: CliPaths, user: string, { root, cwd }: ProcessContext): string {
  const config = resolve(cwd, paths.config ?? template.config);
  const dataDir = resolve(cwd, paths.dataDir ?? template.dataDir);
  // systemd gives spaces, quotes, % and $ a meaning of their own.
  for (const path of [root, config, dataDir])
    if (!/^[\w@./+-]+$/.test(path)) throw new OperatorError(`a unit cannot name the path ${path}`);
  const isOwnState = dataDir === template.dataDir;
  const isInHome = [root, config, dataDir].some((path) => /^\/(?:home|root|run\/user)\//.test(path));
  return readFileSync(join(root, template.file), 'utf8')
    .replaceAll(template.program, () => join(root, 'bin/naru'))
    .replaceAll(`cd ${template.root} `, () => `cd ${root} `)
    .replaceAll(template.config, () => config)
    .replace(template.user, () => `User=${user}\n`)
    .replace(template.state, () => (isOwnState ? template.state : `ReadWritePaths=${dataDir}\n`))
    .replace(template.home, isInHome ? 'ProtectHome=read-only\n' : template.home)
    .replaceAll(`--data-dir ${template.dataDir}\n`, () => `--data-dir ${dataDir}\n`);
}
