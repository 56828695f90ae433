import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { CliContext } from '../../src/cli/context.ts';
import { runCli } from '../../src/cli/program.ts';
import { requestTopup } from '../../src/ledger/topup-requests.ts';
import { krwOfMicro } from '../../src/money/krw.ts';
import { Database } from '../../src/store/database.ts';
import { generationIdOf } from '../../src/wire/ids/generation-id.ts';
import { startTestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { operatorOn } from '../harness/payer.ts';
import { type LedgerWorld, openLedger } from '../ledger/world.ts';
import { type Fate, startCutter } from './proxy.ts';

/* Acts on credit whose COMMIT gets no response: each takes effect once, and none is called a failure. */

/** A ledger, and commands that reach it through a cutter; `fate` is that of the next COMMITs. */
async function commandsBehindCutter(t: TestContext) {
  const ledger = await openLedger(t);
  const cutter = await startCutter(ledger.database.address);
  const far = new Database(cutter.address, 2);
  t.after(async () => {
    await far.close();
    await cutter.close();
  });
  const { clock } = ledger;
  const operator = operatorOn(far, clock);
  const run = async (fate: Fate, times: number, ...words: readonly string[]) => {
    const output = { out: '', err: '' };
    let cuts = 0;
    cutter.onCommit(() => (cuts++ < times ? fate : 'delivered'));
    const context = {
      out: async (text: string) => {
        output.out += text;
      },
      err: (text: string) => {
        output.err += text;
      },
      version: '0',
      user: 'tests@host',
      openOperatorService: async () => operator,
    } as unknown as CliContext;
    const code = await runCli(context, [...words]);
    return { code, ...output };
  };
  return { ledger, run };
}

/** An act on credit, as a command. */
const acts: Readonly<Record<string, (ledger: LedgerWorld) => Promise<readonly string[]>>> = {
  grant: async ({ accountId }) => ['credit', 'grant', '--account', `${accountId}`, '--amount', '5'],
  adjust: async ({ accountId }) => [
    ...['credit', 'adjust', '--account', `${accountId}`, '--amount', '-5', '--reason', 'r'],
  ],
  refund: async (ledger) => {
    const row = ledger.generation(5_000_000n);
    await ledger.settle(row);
    return ['credit', 'refund', '--generation', generationIdOf(row.uuid as never), '--reason', 'r'];
  },
  'top-up': async ({ database, accountId, clock }) => {
    const order = { accountId, amount: krwOfMicro(5_000_000n), depositor: null, note: null };
    const outcome = await requestTopup(database, order, clock.now());
    assert.ok('request' in outcome);
    return ['topup', 'confirm', `${outcome.request.id}`, '--bank-reference', 'T-1'];
  },
};

// spec:operator/1.13
for (const [act, prepare] of Object.entries(acts))
  for (const fate of ['unanswered', 'unasked'] satisfies Fate[])
    test(`a ${act} whose COMMIT is ${fate} is made once: at once, or when the command is run again`, async (t) => {
      const { ledger, run } = await commandsBehindCutter(t);
      const made = async () =>
        (await ledger.entries()).filter(({ kind }) => kind !== 'usage').map(({ amount }) => amount);
      const first = await prepare(ledger);
      const done = await run(fate, 1, ...first);
      assert.deepEqual([done.code, done.err], [0, '']);
      const sum = act === 'adjust' ? -5_000_000n : 5_000_000n;
      assert.deepEqual(await made(), [sum]);

      const second = await prepare(ledger);
      const words = act === 'top-up' ? second.with(-1, 'T-2') : second;
      const unknown = await run(fate, 100, ...words);
      assert.deepEqual([unknown.code, unknown.out], [1, '']);
      assert.match(
        unknown.err,
        /^naru: the outcome is not known: .*Run the command again .*takes effect once\n$/,
      );
      const key = /--idempotency-key (\S+):/.exec(unknown.err)?.[1];
      assert.equal(key === undefined, act === 'top-up');
      const again = key === undefined ? words : [...words, '--idempotency-key', key];
      for (const _ of [1, 2]) assert.equal((await run('delivered', 0, ...again)).code, 0);
      assert.deepEqual(await made(), [sum, sum]);
      assert.deepEqual(await ledger.differences(), []);
    });

test('another change whose COMMIT gets no response is not called a failure either', async (t) => {
  const { run } = await commandsBehindCutter(t);
  await assert.rejects(
    run('unanswered', 100, 'account', 'create', '--name', 'twice'),
    /may have happened or not/,
  );
});

test('a page says that the outcome is not known, and the same request makes one entry', async (t) => {
  const sessions = new TestSessions();
  const cut: { er?: Awaited<ReturnType<typeof startCutter>> } = {};
  const naru = await startTestGateway({
    sessions,
    models: [],
    expectsInternalErrors: true,
    through: async (address) => {
      cut.er = await startCutter(address);
      return cut.er.address;
    },
  });
  t.after(async () => {
    await naru.close();
    await cut.er?.close();
  });
  const account = await naru.account({ credit: '0' });
  const origin = `http://127.0.0.1:${naru.gateway.admin.port}`;
  const admin = new PageBrowser(origin, 'console', sessions.operator('admin'));
  const key = randomUUID();
  const grant = () =>
    admin.send('POST', `/accounts/${account.accountId}/grants`, {
      body: { kind: 'topup', amount_micro: '5000000', reason: 'r' },
      key,
    });
  cut.er?.onCommit(() => 'unanswered');
  const unknown = await grant();
  cut.er?.onCommit(() => 'delivered');
  assert.deepEqual([unknown.status, unknown.json.error.type], [503, 'outcome_unknown'], unknown.text);
  assert.equal(unknown.headers.get('retry-after'), '5');
  const done = await grant();
  assert.equal(done.status, 200, done.text);
  const entries = await Array.fromAsync(naru.operator.exportEntries(account.accountId));
  assert.deepEqual(
    entries.map(({ amountMicro }) => amountMicro),
    [5_000_000n],
  );
});
