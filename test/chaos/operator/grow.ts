import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { shiftDatabaseClock } from '../../harness/database-clock.ts';
import { until } from '../../harness/until.ts';
import { site, type Trial } from './steps.ts';

/** Backups in S3, and a drill. */
export async function backUp(trial: Trial): Promise<void> {
  await trial.calls.call(6);
  await trial.step('docs/tasks.md#make-and-check-backups', {
    check: async () => {
      const backups = await trial.first.rows('naru backup list');
      assert.ok(
        backups.length > 0 &&
          backups.every(({ fault, encryption }) => fault === null && /^key age1/.test(encryption)),
      );
      const runs = await trial.first.rows('naru backup runs');
      assert.ok(runs.some(({ kind, result }) => kind === 'drill' && result === 'ok'));
      return `${backups.length} encrypted backups in S3, the drill restored one`;
    },
  });
}

/** The loss of the machine with its database. */
export async function loseEverything(trial: Trial): Promise<void> {
  const [newest] = (await trial.first.rows('naru backup list'))
    .map(({ name }) => String(name))
    .sort()
    .toReversed();
  await trial.first.loseUnit();
  await trial.step('docs/tasks.md#restore-after-a-loss', {
    words: { BACKUP: newest ?? '' },
    check: async () => {
      await trial.assertLedger();
      await trial.calls.call(2);
      assert.equal(trial.calls.seen.failed, 0, trial.calls.seen.lastFailure);
      return 'after kill -9: keys, credit and charges are there, calls succeed';
    },
  });
}

/** A new price, and a new key of the provider. */
export async function change(trial: Trial): Promise<void> {
  const file = '/etc/naru/naru.yaml';
  const priced = readFileSync(trial.first.path(file), 'utf8').replace(
    'completion: 1200, currency',
    'completion: 1500, currency',
  );
  trial.first.write(file, priced);
  await trial.step('docs/tasks.md#change-a-price-or-add-a-model', {
    check: async () => {
      const { data } = (await (await fetch(`${site}/api/v1/models/example/chat/endpoints`)).json()) as {
        data: { endpoints: { pricing: { completion: string } }[] };
      };
      assert.ok(
        data.endpoints.some(({ pricing }) => Number(pricing.completion) === 0.0015),
        JSON.stringify(data),
      );
      return 'the new price is served';
    },
  });
  await trial.step('docs/tasks.md#rotate-a-provider-key', {
    words: { "'sk-…'": 'sk-rotated' },
    check: async () => {
      await until('the provider gets the new key', async () => {
        await trial.calls.call(1);
        return (
          trial.parts.upstream.requests.at(-1)?.headers.some(([, value]) => value === 'Bearer sk-rotated') ??
          false
        );
      });
      return 'the provider gets the new key, no call failed';
    },
  });
  assert.equal(trial.calls.seen.failed, 0, trial.calls.seen.lastFailure);
}

/** Another database, a second server, and a restart of each under load. */
export async function grow(trial: Trial): Promise<void> {
  const { postgres, edge } = trial.parts;
  trial.first.write('/etc/naru/database.url', postgres.url);
  await trial.step('docs/tasks.md#move-to-your-own-postgresql', {
    check: async () => {
      await trial.assertLedger();
      return 'the ledger is the same on the other database';
    },
  });
  await shiftDatabaseClock(postgres.address, "+ interval '0 seconds'");
  const quickStart = (anchor: string): string => `docs/quick-start.md#${anchor}`;
  await trial.step(quickStart('1-install'), { on: trial.second, check: () => 'the second machine' });
  for (const name of ['database.url', 'backup.key', 'openai.key', 's3.secret', 'oidc.secret'])
    trial.second.write(`/etc/naru/${name}`, readFileSync(trial.first.path(`/etc/naru/${name}`), 'utf8'));
  trial.second.write(
    '/etc/naru/naru.yaml',
    readFileSync(trial.first.path('/etc/naru/naru.yaml'), 'utf8')
      .replaceAll(trial.first.folder, trial.second.folder)
      .replaceAll(String(trial.first.port), String(trial.second.port))
      .replaceAll(String(trial.first.adminPort), String(trial.second.adminPort)),
  );
  await trial.step(quickStart('3-start'), {
    on: trial.second,
    without: /account create/,
    check: () => 'doctor finds no fault there either',
  });
  edge.behind = [trial.first.port, trial.second.port];
  await trial.step('docs/tasks.md#add-a-server', {
    on: trial.second,
    check: async () => {
      const nodes = await trial.second.rows('naru node list');
      assert.equal(nodes.filter(({ state }) => state === 'serving').length, 2, JSON.stringify(nodes));
      return 'both nodes are live';
    },
  });
  for (const on of trial.parts.machines) {
    const load = trial.calls.call(12);
    await trial.step('docs/tasks.md#restart-and-upgrade', {
      on,
      check: async () => {
        await load;
        assert.equal(trial.calls.seen.failed, 0, trial.calls.seen.lastFailure);
        return 'restarted under load, no request failed';
      },
    });
  }
}
