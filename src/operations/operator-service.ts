import { type AccountRow, readAccount, readAccounts } from '../accounts/accounts.ts';
import { insertAccount } from '../accounts/accounts-sql.ts';
import type { CatalogueChange } from '../catalogue/difference.ts';
import { differenceTo, readHistory, readPublished } from '../catalogue/publish.ts';
import type { Config } from '../config/config.ts';
import { type DatasetName, DatasetSync } from '../datasets/sync.ts';
import { exportedGeneration } from '../generations/generation.ts';
import { exportGenerations, readAnyGeneration } from '../generations/generations.ts';
import type { Actor } from '../identity/audit.ts';
import { createIdentity, type Identity } from '../identity/identity.ts';
import type { KeyHash } from '../ids/api-key.ts';
import type { GenerationUuid } from '../ids/generation-id.ts';
import { type KeyRow, type NewKey, readKey, readKeys, readSpend } from '../keys/keys.ts';
import type { Spend } from '../keys/spend.ts';
import { isDisabled, type KeyStanding, standingOf } from '../keys/standing.ts';
import type { Adjustment, CorrectionOutcome, Refund } from '../ledger/corrections.ts';
import type { Grant, GrantOutcome } from '../ledger/credit.ts';
import { type Anchor, type EntryRow, exportEntries, type Verdict, verifyLedger } from '../ledger/ledger.ts';
import { type RetryOutcome, readQuarantine, retryQuarantined } from '../ledger/quarantine.ts';
import { type PruneOptions, type PruneOutcome, pruneGenerations } from '../ledger/retention.ts';
import { silentLog } from '../log/log.ts';
import { type Krw, krwOfMicro } from '../money/krw.ts';
import { readNodes, type writeOffNode } from '../nodes/nodes.ts';
import type { Database } from '../store/database.ts';
import type { Clock } from '../time/clock.ts';
import { recordAfter } from './audited.ts';
import { type AboveLimit, auditedOperations } from './audited-operations.ts';

/** A published price. */
export type PublishedPrice = Awaited<ReturnType<typeof readPublished>>[number];

/** The operations of the operator's commands on an open database. */
export interface OperatorService {
  /** Owners, operators, sessions and the audit log. */
  readonly identity: Identity;
  /** Who acts. */
  readonly actor: Actor;
  /** The same service for another actor, whose role and name are in the audit log. */
  as(actor: Actor): OperatorService;
  createAccount(account: { readonly name: string; readonly email: string | null }): Promise<number>;
  readAccount(accountId: number): Promise<AccountRow | null>;
  readAccounts(): Promise<readonly AccountRow[]>;
  /** `above_limit`: the role of the actor permits less in a day. */
  grantCredit(grant: Grant): Promise<GrantOutcome | AboveLimit>;
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

/** The actor of a command. */
const commandLine: Actor = { kind: 'cli', name: 'cli' };

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
    /** Who acts; absent: the command line. */
    readonly actor?: Actor;
    /** The most that an operator with the role support may grant in a day; absent: nothing. */
    readonly supportCreditLimit?: Krw;
    /** Absent: one without an OpenID provider. */
    readonly identity?: Identity;
    readonly close: () => Promise<void>;
  },
): OperatorService {
  const { clock, keyPrefix, actor = commandLine, supportCreditLimit = krwOfMicro(0n) } = context;
  const audit = { database, clock, actor };
  const maxKeysPerAccount = context.maxKeysPerAccount ?? Number.POSITIVE_INFINITY;
  const act = auditedOperations({ ...audit, keyPrefix, maxKeysPerAccount, supportCreditLimit });
  const identity =
    context.identity ??
    createIdentity({
      database,
      clock,
      oidc: null,
      createAccount: (sql, account) => insertAccount(sql, { ...account, createdAtMs: clock.now() }),
    });
  return {
    ...act,
    identity,
    actor,
    as: (other) => createOperatorService(database, { ...context, actor: other }),
    readAccount: (accountId) => readAccount(database, accountId),
    readAccounts: () => readAccounts(database),
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
    exportEntries: (onlyAccount) => exportEntries(database, onlyAccount),
    readGeneration: async (uuid) => {
      const row = await readAnyGeneration(database, uuid);
      return row === null ? null : exportedGeneration(row);
    },
    exportGenerations: (onlyAccount) => exported(exportGenerations(database, onlyAccount)),
    pruneGenerations: async (options) => {
      const outcome = await pruneGenerations(database, options, clock.now());
      await recordAfter(audit, { act: 'generations.prune', after: outcome });
      return outcome;
    },
    verifyLedger: (anchors) => verifyLedger(database, anchors),
    readQuarantine: (all) => readQuarantine(database, all),
    retryQuarantined: async (only) => {
      const outcome = await retryQuarantined(database, only);
      const settled = [...outcome.values()].filter((reason) => reason === null).length;
      const subject = only === null ? {} : { subject: only };
      if (outcome.size > 0)
        await recordAfter(audit, {
          act: 'quarantine.retry',
          ...subject,
          after: { tried: outcome.size, settled },
        });
      return outcome;
    },
    readNodes: () => readNodes(database),
    diffCatalogue: async () => differenceTo(database, catalogueOf(context).config),
    publishCatalogue: async () => act.publishCatalogue(catalogueOf(context).configToPublish()),
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
