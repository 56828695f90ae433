import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
}

/** The files of a package of ours that name what is bundled, by the program's bundler or by Vite. */
const bundles = ['program', 'web/dist/dashboard', 'web/dist/console'];
const bundledName = /^(?:## )?(\S+) (?:- )?(\d\S*?)(?::| \().*$/gm;
/** Beside the platform's packages in an archive, from Debian. */
const libraries = ['libatomic1', 'libgomp1'].map((name) => ({
  ...{ type: 'library', 'bom-ref': `pkg:deb/debian/${name}`, name, purl: `pkg:deb/debian/${name}` },
  licenses: [{ expression: 'GPL-3.0-or-later WITH GCC-exception-3.1' }],
}));

/**
 * The components of a release, as CycloneDX 1.5: the packages bundled into the program and the pages
 * of `staged`, and those that are installed with it, each with its license as the lockfile has it.
 */
export function components(root: string, staged: string): string {
  const { name, version, packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  const manifest = JSON.parse(readFileSync(join(staged, 'package.json'), 'utf8')) as {
    readonly dependencies: object;
    readonly optionalDependencies: object;
  };
  const installed = new Set(Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }));
  const bundled = new Set(bundles.flatMap((folder) => bundledIn(join(staged, folder, 'licenses.txt'))));
  const shipped = Object.entries(packages).flatMap(([path, locked]) => {
    const found = locked.name ?? path.split('node_modules/').at(-1) ?? '';
    if (locked.version === undefined) return [];
    const isInstalled = installed.has(found) && path === `node_modules/${found}`;
    if (!isInstalled && !bundled.has(`${found}@${locked.version}`)) return [];
    return [componentOf(found, locked.version, locked)];
  });
  // A package may lie in several folders.
  const unique = new Map(shipped.map((component) => [component['bom-ref'], component]));
  const own = purlOf(name, version);
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': own, name, version, purl: own } },
    components: [...unique.values(), ...libraries],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** The packages of a list of licenses, as `name@version`. */
export function bundledIn(file: string): readonly string[] {
  const found = readFileSync(file, 'utf8').matchAll(bundledName);
  return [...found].map(([, name, version]) => `${name}@${version}`);
}

function componentOf(name: string, version: string, { integrity = '', license }: LockedPackage) {
  const purl = purlOf(name, version);
  const [, sha512] = /^sha512-(.+)$/.exec(integrity) ?? [];
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    ...(license === undefined ? {} : { licenses: [licenseOf(license)] }),
    ...(sha512 === undefined
      ? {}
      : { hashes: [{ alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') }] }),
  };
}

/** An expression such as `(MIT OR Apache-2.0)` is not an identifier. */
function licenseOf(license: string): object {
  return license.includes(' ') ? { expression: license } : { license: { id: license } };
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}
