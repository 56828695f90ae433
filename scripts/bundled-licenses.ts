import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';

const modulesFolder = `${sep}node_modules${sep}`;
const licenseFile = /^(licen[cs]e|notice|copying)(\.|$)/i;

/**
 * The licenses of the packages from which modules are bundled, in the order of their names: a copy
 * of a package must carry them. The ids are paths of files, or names that the bundler made up.
 */
export function licensesOf(moduleIds: readonly string[]): string {
  const folders = new Set(moduleIds.flatMap((id) => packageFolder(id) ?? []));
  return [...folders]
    .map(licenseOf)
    .sort((one, other) => (one < other ? -1 : 1))
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** The folder of the package that a module belongs to; null for a module of the project. */
function packageFolder(moduleId: string): string | null {
  const at = moduleId.lastIndexOf(modulesFolder);
  if (at === -1) return null;
  const home = moduleId.slice(0, at + modulesFolder.length);
  const [scope = '', name = ''] = moduleId.slice(home.length).split(sep);
  const folder = join(home, scope.startsWith('@') ? join(scope, name) : scope);
  return existsSync(join(folder, 'package.json')) ? folder : null;
}

function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder)
    .filter((file) => licenseFile.test(file))
    .sort()
    .map((file) => `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`);
  return `${name} ${version}: ${license}\n${texts.join('')}`;
}
