import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { formatError } from '../../src/admin/format-error.ts';
import { settingsOf } from '../../src/app/config-source.ts';
import { limitKrw, positiveKrw } from '../../src/cli/arguments.ts';
import { startCertificateServer } from '../harness/certificate-server.ts';
import { program } from '../harness/program.ts';
import { fullOnly, sample } from '../harness/tier.ts';
import { createInstallation, type Installation, naru, root } from './naru.ts';

/*
 * What works without a database: help, versions, mistakes. None of these may touch the data
 * directory.
 */

let installation: Installation;

before(() => {
  installation = createInstallation();
});
after(() => installation?.remove());

test('--version is that of package.json', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { code, out, err } = await naru('--version');
  assert.deepEqual([code, out, err], [0, `${version}\n`, '']);
});

test('--help names every command and the first steps; a command lists its own options first', async () => {
  const whole = await naru('--help');
  assert.equal(whole.code, 0);
  for (const word of [
    'up',
    'account',
    'credit',
    'key',
    'ledger',
    'generation',
    'models',
    'config',
    'doctor',
    'Examples:',
  ])
    assert.match(whole.out, new RegExp(`^ *${word}`, 'm'));
  assert.ok(whole.out.split('\n').every((line) => line.length <= 110));
  const grant = await naru('credit', 'grant', '--help');
  assert.equal(grant.code, 0);
  assert.ok(grant.out.indexOf('--amount') < grant.out.indexOf('--data-dir'), grant.out);
});

test('an amount with more than six decimals is rejected, however it is written', () => {
  for (const text of ['0.0000015', '1.5e-6', '15E-7', '1e-7', '10.00000010'])
    assert.throws(() => positiveKrw(text), /more than six decimals/, text);
  for (const [text, micro] of [
    ['15e-6', 15n],
    ['0.0000150', 15n],
    ['1e3', 1_000_000_000n],
  ] as const)
    assert.equal(positiveKrw(text), micro);
});

// spec:money/1.5,7.3,7.4
test('a limit is taken as the API takes it: 0, decimals rounded half up, up to 10^15', () => {
  for (const [text, micro] of [
    ['0', 0n],
    ['0.0000004', 0n],
    ['0.0000005', 1n],
    ['1.0000014999', 1_000_001n],
    ['1e3', 1_000_000_000n],
    ['1e15', 10n ** 21n],
    ['1000000000000000.0000001', 10n ** 21n],
  ] as const)
    assert.equal(limitKrw(text), micro, text);
});

const mistakes: readonly (readonly [args: string, words: RegExp])[] = [
  ['credit grant --account 1 --amont 5', /unknown option '--amont' \(did you mean "--amount"\?\)/],
  ['credit grnt --account 1', /unknown command 'grnt'\n\(Did you mean grant\?\)/],
  ['acount list', /unknown command 'acount'/],
  ['credit grant --account 1', /required option '--amount <won>' not specified/],
  ['credit grant --account 1 --amount -5', /must be more than 0 won/],
  ['credit grant --account 1 --amount 0', /must be more than 0 won/],
  ['credit grant --account 1 --amount five', /must be an amount in won/],
  ['credit grant --account 1 --amount 0.0000001', /more than six decimals/],
  ['credit grant --account 1 --amount 1.5e-6', /more than six decimals/],
  ['credit grant --account 1 --amount 15E-7', /more than six decimals/],
  ['credit adjust --account 1 --amount -1e-7 --reason x', /more than six decimals/],
  ['credit grant --account 1 --amount 1000000000000000', /at most 9223372036854.775807/],
  ['credit grant --account one --amount 5', /must be an account id/],
  ['credit grant --account 1 --amount 5 --kind gift', /Allowed choices are topup, bonus/],
  ['credit grant --account 1 --amount 5 --expires-at tomorrow', /must be a timestamp such as/],
  ['credit grant --account 1 --amount 5 --expires-at 2026-02-30T00:00:00Z', /must be a timestamp such as/],
  ['credit grant --account 1 --amount 5 --expires-at 2026-12-31', /must be a timestamp such as/],
  [
    'credit grant --account 1 --amount 5 --idempotency-key=',
    /'--idempotency-key <key>' argument '' is invalid. must contain a visible character/,
  ],
  ['account list --data-dir=', /'--data-dir <dir>' argument '' is invalid. must contain a visible character/],
  ['account list --config=', /'--config <file>' argument '' is invalid. must contain a visible character/],
  ['credit grant --account 1 --amount 5 --amount 500', /'--amount' is given twice, as '5' and as '500'/],
  ['ledger export --account=1 --account 2', /'--account' is given twice/],
  ['up --host=', /'--host <host>' argument '' is invalid. must be an IP address or a host name/],
  ['up --host http://127.0.0.1', /must be an IP address or a host name/],
  ['models refresh --from=', /must contain a visible character/],
  ['account create --name x --email=', /must contain a visible character/],
  ['account create --name --json', /option '--name' has no value before '--json'/],
  ['credit grant --account 1 --amount 5 --memo --kind bonus', /option '--memo' has no value before '--kind'/],
  ['generation prune', /required option '--before <month>' not specified/],
  ['generation prune --before 2026-13', /must be a month such as 2026-01/],
  ['generation prune --before 2026-01-01', /must be a month such as 2026-01/],
  ...['-1', '-0', '-1e-9', '1000000000000000.000001', '1e400', 'NaN', 'Infinity', '1,000', '0x10'].map(
    (limit) =>
      [
        `key create --account 1 --name x --limit ${limit}`,
        /must be an amount in won from 0 to 1000000000000000/,
      ] as const,
  ),
  [
    'key create --account 1 --name x --limit-reset hourly',
    /Allowed choices are never, daily, weekly, monthly/,
  ],
  ['account business-number 1 124-81-00997', /must be a business number such as/],
  ['usage export --month 2026-11 --from 2026-11-01', /cannot be used with option/],
  ['generation show req_nope', /the id of a generation, gen-…, or of a request, req_…/],
  ['key show abc', /at least the first 6 lowercase hex digits of a key hash/],
  ['up --port 70000', /must be a port/],
  ['account', /Usage: naru account/],
];

for (const [args, message] of sample(mistakes, 8))
  test(`"naru ${args}" is a usage error: exit code 2 and a hint`, async () => {
    const { code, out, err } = await naru(...args.split(' '));
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, message);
    assert.doesNotMatch(err, /\n {4}at /);
  });

test('a name has a visible character and is no longer than the API allows', async () => {
  const unseen = ['', '\u200b', '\u2060', '\u3164', '\ufeff\u2800', '\u3000'];
  for (const [name, pattern] of [
    ...unseen.map((text) => [text, /argument '.*' is invalid\. must contain a visible character/] as const),
    ['x'.repeat(501), /must be well-formed text of at most 500 characters/] as const,
  ]) {
    for (const command of [
      ['account', 'create'],
      ['key', 'create', '--account', '1'],
    ]) {
      const { code, out, err } = await naru(...command, `--name=${name}`);
      assert.deepEqual([code, out], [2, ''], JSON.stringify(name));
      assert.match(err, pattern);
    }
  }
});

test('an empty NARU_DATA_DIR or NARU_CONFIG counts as unset', async () => {
  const empty = { NARU_DATA_DIR: ' ', NARU_CONFIG: '' };
  const proc = { env: empty, cwd: installation.folder, home: join(installation.folder, 'home') };
  const settings = settingsOf({ config: null, dataDir: null }, proc);
  assert.deepEqual(settings, { dataDir: join(installation.folder, 'home/.naru'), configFile: null });
});

// spec:operator/1.11
test('config check reports every fault with its line, and exits with 1', async () => {
  const file = installation.configure({ listen: { port: 'x' }, modles: [] });
  const people = await naru('config', 'check', '--config', file);
  assert.equal(people.code, 1);
  assert.match(people.out, /naru\.yaml:1:\d+ listen\.port: /);
  assert.match(people.out, /naru\.yaml:1:\d+ modles: /);
  const programs = await naru('config', 'check', '--config', file, '--json');
  assert.equal(programs.code, 1);
  assert.equal(programs.rows.length, 1);
  assert.equal(programs.rows[0].ok, false);
  assert.equal(programs.rows[0].faults.length, 2);
});

// spec:operator/2.8
test('config check reports the line that is not UTF-8', async () => {
  const file = installation.configure({});
  for (const [bytes, line] of [
    [Buffer.concat([Buffer.from('listen:\n  port: 1\n# '), Buffer.from('b0a1', 'hex')]), 3],
    [Buffer.from('\uFEFFlisten: {}\n', 'utf16le'), 1],
  ] as const) {
    writeFileSync(file, bytes);
    const { code, err } = await naru('config', 'check', '--config', file);
    assert.equal(code, 1);
    assert.match(
      err,
      new RegExp(`naru\\.yaml: its line ${line} is not UTF-8: save the file in that encoding`),
    );
  }
});

test('config check of a file without faults, and without a file', async () => {
  const file = installation.configure({ listen: { port: 9999 } });
  const good = await naru('config', 'check', '--config', file, '--json');
  assert.deepEqual([good.code, good.rows], [0, [{ file, ok: true, faults: [], warnings: [] }]]);
  const missing = await naru('config', 'check', '--config', join(installation.folder, 'none.yaml'));
  assert.equal(missing.code, 1);
  assert.match(missing.err, /^naru: no configuration file .*none\.yaml\n$/);
});

test('config check and doctor warn of a slot whose program cannot be run', async () => {
  const plain = join(installation.folder, 'plain-file');
  writeFileSync(plain, '', { mode: 0o644 });
  const slots = Object.entries({ absent: 'naru-no-such-engine', gone: './gone', plain, fine: 'sh' }).map(
    ([name, program]) => ({ name, command: [program, '{port}'] }),
  );
  const file = installation.configure({ slots });
  const check = await naru('config', 'check', '--config', file, '--json');
  const faults = [
    'slot absent: program naru-no-such-engine not found on PATH',
    `slot gone: program ${join(dirname(file), 'gone')} not found`,
    `slot plain: program ${plain} is not executable: run chmod +x on it`,
  ];
  assert.deepEqual([check.code, check.rows[0].warnings], [0, faults]);
  const doctor = await installation.run('doctor', '--config', file);
  for (const fault of faults) assert.ok(doctor.out.includes(fault.replace(/^slot \w+: /, '')), doctor.out);
});

test('doctor reports the certificate at the public address of the dashboard, and of the console', async (t) => {
  const edge = { trusted_proxies: ['127.0.0.1'] };
  for (const [config, isOk, days] of [
    [{ auth: { public_url: await startCertificateServer(t, 60) } }, true, '(59|60)'],
    [{ edge, admin: { public_url: await startCertificateServer(t, 7) } }, false, '[67]'],
  ] as const) {
    const { rows } = await installation.json('doctor', '--config', installation.configure(config));
    const found = rows.find(({ check }) => check === 'certificate');
    assert.equal(found?.ok, isOk, JSON.stringify(rows));
    assert.match(found.detail, new RegExp(`^that of https://localhost:\\d+ expires in ${days} days`));
  }
});

test('an endless file is an error for every option that names a file', async () => {
  const check = await naru('config', 'check', '--config', '/dev/zero');
  assert.match(
    check.err,
    /^naru: cannot read the configuration file \/dev\/zero: it has more than \d+ bytes\n$/,
  );
  const facts = await installation.run('models', 'refresh', '--from', '/dev/zero');
  assert.match(facts.err, /^naru: no model metadata from \/dev\/zero: it cannot be read \(EFBIG\)\n$/);
  const file = installation.configure({ database: { url: 'file:/dev/zero' } });
  const secret = await naru('config', 'check', '--config', file);
  assert.match(secret.out, /the file \/dev\/zero cannot be read \(EFBIG\)/);
  assert.deepEqual([check.code, facts.code, secret.code], [1, 1, 1]);
});

test('a full disk behind stdout is reported, and a reader that exits is not', async () => {
  const command = `"${process.execPath}" "${program()}" models facts`;
  const full = spawnSync('sh', ['-c', `${command} > /dev/full`], { encoding: 'utf8' });
  assert.deepEqual(
    [full.status, full.stderr],
    [1, 'naru: cannot write the output (ENOSPC); it is incomplete\n'],
  );
  const left = spawnSync('sh', ['-c', `${command} --json | head -1`], { encoding: 'utf8' });
  assert.equal(left.stderr, '');
});

test('the doctor reports each fault with its repair, and exits with 1', async () => {
  const file = installation.configure({
    database: { url: 'postgres://naru:secret-word@127.0.0.1:1/naru' },
    slots: [{ name: 'gone', command: ['no-such-engine', '--port', '{port}'] }],
  });
  const { code, out } = await installation.run('doctor', '--config', file);
  assert.equal(code, 1);
  assert.match(out, /^FAULT\tdatabase\tthe database is unavailable: nothing listens at that address/m);
  assert.match(out, /^FAULT\tslot gone\tprogram no-such-engine not found/m);
  assert.match(out, /^ok\tnode\t\d+\./m);
  assert.doesNotMatch(out, /secret-word/);
});

test('an unknown database host is reported in one line', () => {
  const error = Object.assign(new Error('getaddrinfo ENOTFOUND db.internal'), {
    code: 'ENOTFOUND',
    syscall: 'getaddrinfo',
  });
  assert.equal(
    formatError(error),
    'the database is unavailable: no such host (getaddrinfo ENOTFOUND db.internal); check database.url in naru.yaml',
  );
});

test('a database that closes its connections or is silent is reported in one line', () => {
  for (const code of ['ECONNRESET', 'EPIPE'])
    assert.match(
      formatError(Object.assign(new Error(`write ${code}`), { code, syscall: 'write' })),
      /^the database is unavailable: it closed the connection \(write \w+\); check database\.url in naru\.yaml$/,
    );
  // The client library's own errors have no code.
  for (const [message, cause] of [
    ['Connection terminated unexpectedly', 'it closed the connection'],
    ['timeout expired', 'it does not respond'],
    ['Connection terminated due to connection timeout', 'it does not respond'],
  ] as const)
    assert.equal(
      formatError(new Error(message)),
      `the database is unavailable: ${cause} (${message}); check database.url in naru.yaml`,
    );
});

test(
  'a database URL as hosting providers print it adds no client warning to a command',
  fullOnly,
  async () => {
    for (const mode of ['prefer', 'require', 'verify-ca']) {
      const file = installation.configure({
        database: { url: `postgres://naru@127.0.0.1:1/naru?sslmode=${mode}` },
      });
      const { code, err } = await installation.run('account', 'list', '--config', file);
      assert.equal(code, 1);
      assert.match(err, /^naru: the database is unavailable: nothing listens at that address .*\n$/);
    }
  },
);
