import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
}

/**
 * The components of a release, as CycloneDX 1.5: every package of the lockfile that is bundled, comes
 * with the pages or is installed on some platform, and those that only the build of the pages needs.
 * `npm sbom` leaves out two direct dependencies. The same lockfile gives the same text.
 */
export function components(root: string): string {
  const { name, version, packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  const shipped = Object.entries(packages).flatMap(([path, locked]) => {
    const found = path.split('node_modules/').at(-1) ?? '';
    const isOurs = !path.includes('node_modules/') || locked.link === true;
    if (isOurs || locked.dev === true || locked.version === undefined) return [];
    return [componentOf(locked.name ?? found, locked.version, locked)];
  });
  // A package may lie in several folders.
  const unique = new Map(shipped.map((component) => [component['bom-ref'], component]));
  const own = purlOf(name, version);
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': own, name, version, purl: own } },
    components: [...unique.values()],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
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
