import { createAccount, readAccount, readAccounts } from '../accounts/accounts.ts';
import { differenceTo, publishPrices, readHistory, readPublished } from '../catalogue/publish.ts';
import type { Office } from '../cli/office.ts';
import type { Config } from '../config/config.ts';
import { type DatasetName, DatasetSync } from '../datasets/sync.ts';
import { exportedGeneration } from '../generations/generation.ts';
import { exportGenerations, readAnyGeneration } from '../generations/generations.ts';
import { createKey, readKey, readKeys, readSpend, revokeKey, suspendKey } from '../keys/keys.ts';
import { isDisabled, standingOf } from '../keys/standing.ts';
import { adjustCredit, refundGeneration } from '../ledger/corrections.ts';
import { grantCredit } from '../ledger/credit.ts';
import { exportEntries, verifyLedger } from '../ledger/ledger.ts';
import { readQuarantine, retryQuarantined, writeOffQuarantined } from '../ledger/quarantine.ts';
import { pruneGenerations } from '../ledger/retention.ts';
import { silentLog } from '../log/log.ts';
import { readNodes, writeOffNode } from '../nodes/nodes.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';

/** Binds the rooms to an open database for the operator's commands; `close` is called when they are done with it. */
export function openOffice(
  database: Database,
  context: {
    readonly clock: Clock;
    readonly keyPrefix: string;
    /** Keys of an account; absent: as many as anybody wants. */
    readonly maxKeysPerAccount?: number;
    /** What `naru models` compares and publishes; only its commands need them. */
    readonly catalogue?: { readonly config: Config; readonly configToPublish: () => Config };
    /** Where datasets are synced from; absent: nowhere. */
    readonly datasets?: Config['datasets'];
    readonly close: () => Promise<void>;
  },
): Office {
  const { clock, keyPrefix, maxKeysPerAccount: maxPerAccount = Number.POSITIVE_INFINITY } = context;
  return {
    createAccount: (account) => createAccount(database, { ...account, createdAtMs: clock.now() }),
    readAccount: (accountId) => readAccount(database, accountId),
    readAccounts: () => readAccounts(database),
    grantCredit: (grant) => grantCredit(database, grant, clock.now()),
    refundGeneration: (refund) => refundGeneration(database, refund, clock.now()),
    adjustCredit: (adjustment) => adjustCredit(database, adjustment, clock.now()),
    createKey: (order) =>
      createKey(database, order, { prefix: keyPrefix, nowMs: clock.now(), maxPerAccount }),
    readKey: (hash) => readKey(database, hash),
    readKeys: (accountId) => readKeys(database, accountId),
    readSpend: (key) => readSpend(database, key, clock.now()),
    readStandings: async (accountId) => {
      const account = await readAccount(database, accountId);
      if (account === null) return null;
      const balance = account.credits - account.usage;
      const nowMs = clock.now();
      return (key) => ({
        standing: standingOf(key, balance, nowMs),
        isDisabled: isDisabled(key, balance <= 0n),
      });
    },
    suspendKey: (change) => suspendKey(database, { ...change, atMs: clock.now() }),
    revokeKey: (hash) => revokeKey(database, hash, clock.now()),
    exportEntries: (onlyAccount) => exportEntries(database, onlyAccount),
    readGeneration: async (uuid) => {
      const row = await readAnyGeneration(database, uuid);
      return row === null ? null : exportedGeneration(row);
    },
    exportGenerations: (onlyAccount) => exported(exportGenerations(database, onlyAccount)),
    pruneGenerations: (order) => pruneGenerations(database, order, clock.now()),
    verifyLedger: (anchors) => verifyLedger(database, anchors),
    readQuarantine: (all) => readQuarantine(database, all),
    retryQuarantined: (only) => retryQuarantined(database, only),
    writeOffQuarantined: (order) => writeOffQuarantined(database, order),
    readNodes: () => readNodes(database),
    writeOffNode: (order) => writeOffNode(database, order),
    diffCatalogue: async () => differenceTo(database, catalogueOf(context).config),
    publishCatalogue: async () =>
      publishPrices(database, catalogueOf(context).configToPublish(), { atMs: clock.now(), announce: true }),
    readPublished: () => readPublished(database),
    readPriceHistory: (model) => readHistory(database, model),
    syncDatasets: (names) => syncDatasets(database, context, names),
    close: context.close,
  };
}

function catalogueOf({ catalogue }: Parameters<typeof openOffice>[1]) {
  if (catalogue === undefined) throw new Error('this office was opened without a catalogue');
  return catalogue;
}

async function* exported(rows: ReturnType<typeof exportGenerations>): AsyncGenerator<object> {
  for await (const row of rows) yield exportedGeneration(row);
}

async function syncDatasets(
  database: Database,
  { clock, datasets }: { readonly clock: Clock; readonly datasets?: Config['datasets'] },
  names: readonly DatasetName[],
): ReturnType<Office['syncDatasets']> {
  if (datasets === undefined) return 'no_key';
  const sync = new DatasetSync({ settings: datasets, database, clock, log: silentLog });
  try {
    return await sync.syncNow(names);
  } finally {
    await sync.close();
  }
}
