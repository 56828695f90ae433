import { type AccountRow, createAccount, readAccount, readAccounts } from '../accounts/accounts.ts';
import type { CatalogueChange } from '../catalogue/difference.ts';
import { differenceTo, publishPrices, readHistory, readPublished } from '../catalogue/publish.ts';
import type { Config } from '../config/config.ts';
import { type DatasetName, DatasetSync } from '../datasets/sync.ts';
import { exportedGeneration } from '../generations/generation.ts';
import { exportGenerations, readAnyGeneration } from '../generations/generations.ts';
import type { KeyHash } from '../ids/api-key.ts';
import type { GenerationUuid } from '../ids/generation-id.ts';
import {
  createKey,
  type KeyRow,
  type NewKey,
  readKey,
  readKeys,
  readSpend,
  revokeKey,
  suspendKey,
} from '../keys/keys.ts';
import type { Spend } from '../keys/spend.ts';
import { isDisabled, type KeyStanding, standingOf } from '../keys/standing.ts';
import {
  type Adjustment,
  adjustCredit,
  type CorrectionOutcome,
  type Refund,
  refundGeneration,
} from '../ledger/corrections.ts';
import { type Grant, type GrantOutcome, grantCredit } from '../ledger/credit.ts';
import { type Anchor, type EntryRow, exportEntries, type Verdict, verifyLedger } from '../ledger/ledger.ts';
import {
  type RetryOutcome,
  readQuarantine,
  retryQuarantined,
  writeOffQuarantined,
} from '../ledger/quarantine.ts';
import { type PruneOptions, type PruneOutcome, pruneGenerations } from '../ledger/retention.ts';
import { silentLog } from '../log/log.ts';
import { readNodes, writeOffNode } from '../nodes/nodes.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';

/** A published price. */
export type PublishedPrice = Awaited<ReturnType<typeof readPublished>>[number];

/** The operations of the operator's commands on an open database. */
export interface OperatorService {
  createAccount(account: { readonly name: string; readonly email: string | null }): Promise<number>;
  readAccount(accountId: number): Promise<AccountRow | null>;
  readAccounts(): Promise<readonly AccountRow[]>;
  grantCredit(grant: Grant): Promise<GrantOutcome>;
  refundGeneration(refund: Refund): Promise<CorrectionOutcome>;
  adjustCredit(adjustment: Adjustment): Promise<CorrectionOutcome>;
  createKey(options: NewKey): Promise<{ readonly hash: KeyHash; readonly plaintext: string }>;
  readKey(hash: KeyHash): Promise<KeyRow | null>;
  readKeys(accountId: number): Promise<readonly KeyRow[]>;
  readSpend(key: KeyRow): Promise<Spend>;
  /** The current standing of an account's keys; null when the account does not exist. */
  readStandings(
    accountId: number,
  ): Promise<((key: KeyRow) => { readonly standing: KeyStanding; readonly isDisabled: boolean }) | null>;
  suspendKey(change: {
    readonly hash: KeyHash;
    readonly suspended: boolean;
    readonly reason: string | null;
  }): Promise<boolean>;
  revokeKey(hash: KeyHash): Promise<boolean>;
  exportEntries(onlyAccount: number | null): AsyncIterable<EntryRow>;
  /** One record with its account, in the export format; null when it does not exist. */
  readGeneration(uuid: GenerationUuid): Promise<object | null>;
  exportGenerations(onlyAccount: number | null): AsyncIterable<object>;
  pruneGenerations(options: PruneOptions): Promise<PruneOutcome>;
  /** `anchors`: the state of the ledger chains at the time of a backup. */
  verifyLedger(anchors?: ReadonlyMap<number, Anchor>): Promise<Verdict>;
  /** The settlements that the database rejected: the open ones, or all. */
  readQuarantine(all: boolean): ReturnType<typeof readQuarantine>;
  /** Retries one or all rejected settlements. */
  retryQuarantined(only: GenerationUuid | null): Promise<RetryOutcome>;
  /** False when this generation has no open quarantined settlement. */
  writeOffQuarantined(options: { readonly uuid: GenerationUuid; readonly reason: string }): Promise<boolean>;
  readNodes(): ReturnType<typeof readNodes>;
  /** Removes a lost node whose journal cannot be recovered. */
  writeOffNode(options: { readonly home: string; readonly reason: string }): ReturnType<typeof writeOffNode>;
  /** The changes that publishing the configuration would make. */
  diffCatalogue(): Promise<readonly CatalogueChange[]>;
  /** Publishes the configuration; running servers reload theirs. */
  publishCatalogue(): Promise<{ readonly edition: number; readonly changes: readonly CatalogueChange[] }>;
  readPublished(): Promise<readonly PublishedPrice[]>;
  readPriceHistory: (model: string | null) => ReturnType<typeof readHistory>;
  syncDatasets(names: readonly DatasetName[]): ReturnType<DatasetSync['syncNow']>;
  close(): Promise<void>;
}

/** Creates the operator service on an open database; `close` is called when the command ends. */
export function createOperatorService(
  database: Database,
  context: {
    readonly clock: Clock;
    readonly keyPrefix: string;
    /** The maximum of keys per account; absent: unlimited. */
    readonly maxKeysPerAccount?: number;
    /** What `naru models` compares and publishes; only those commands need it. */
    readonly catalogue?: { readonly config: Config; readonly configToPublish: () => Config };
    /** The source of datasets; absent: none. */
    readonly datasets?: Config['datasets'];
    readonly close: () => Promise<void>;
  },
): OperatorService {
  const { clock, keyPrefix, maxKeysPerAccount: maxPerAccount = Number.POSITIVE_INFINITY } = context;
  return {
    createAccount: (account) => createAccount(database, { ...account, createdAtMs: clock.now() }),
    readAccount: (accountId) => readAccount(database, accountId),
    readAccounts: () => readAccounts(database),
    grantCredit: (grant) => grantCredit(database, grant, clock.now()),
    refundGeneration: (refund) => refundGeneration(database, refund, clock.now()),
    adjustCredit: (adjustment) => adjustCredit(database, adjustment, clock.now()),
    createKey: (options) =>
      createKey(database, options, { prefix: keyPrefix, nowMs: clock.now(), maxPerAccount }),
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
    pruneGenerations: (options) => pruneGenerations(database, options, clock.now()),
    verifyLedger: (anchors) => verifyLedger(database, anchors),
    readQuarantine: (all) => readQuarantine(database, all),
    retryQuarantined: (only) => retryQuarantined(database, only),
    writeOffQuarantined: (options) => writeOffQuarantined(database, options),
    readNodes: () => readNodes(database),
    writeOffNode: (options) => writeOffNode(database, options),
    diffCatalogue: async () => differenceTo(database, catalogueOf(context).config),
    publishCatalogue: async () =>
      publishPrices(database, catalogueOf(context).configToPublish(), { atMs: clock.now(), announce: true }),
    readPublished: () => readPublished(database),
    readPriceHistory: (model) => readHistory(database, model),
    syncDatasets: (names) => syncDatasets(database, context, names),
    close: context.close,
  };
}

function catalogueOf({ catalogue }: Parameters<typeof createOperatorService>[1]) {
  if (catalogue === undefined) throw new Error('this operator service was opened without a catalogue');
  return catalogue;
}

async function* exported(rows: ReturnType<typeof exportGenerations>): AsyncGenerator<object> {
  for await (const row of rows) yield exportedGeneration(row);
}

async function syncDatasets(
  database: Database,
  { clock, datasets }: { readonly clock: Clock; readonly datasets?: Config['datasets'] },
  names: readonly DatasetName[],
): ReturnType<OperatorService['syncDatasets']> {
  if (datasets === undefined) return 'no_key';
  const sync = new DatasetSync({ settings: datasets, database, clock, log: silentLog });
  try {
    return await sync.syncNow(names);
  } finally {
    await sync.close();
  }
}
