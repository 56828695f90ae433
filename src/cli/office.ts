import type { AccountRow } from '../accounts/accounts.ts';
import type { CatalogueChange } from '../catalogue/difference.ts';
import type { readHistory, readPublished } from '../catalogue/publish.ts';
import type { DatasetName, DatasetSync } from '../datasets/sync.ts';
import type { KeyHash } from '../ids/api-key.ts';
import type { GenerationUuid } from '../ids/generation-id.ts';
import type { KeyOrder, KeyRow } from '../keys/keys.ts';
import type { Spend } from '../keys/spend.ts';
import type { KeyStanding } from '../keys/standing.ts';
import type { Adjustment, CorrectionOutcome, Refund } from '../ledger/corrections.ts';
import type { Grant, GrantOutcome } from '../ledger/credit.ts';
import type { Anchor, EntryRow, Verdict } from '../ledger/ledger.ts';
import type { RetryOutcome, readQuarantine } from '../ledger/quarantine.ts';
import type { PruneOrder, PruneOutcome } from '../ledger/retention.ts';
import type { readNodes, writeOffNode } from '../nodes/nodes.ts';

/** A published price. */
export type PublishedPrice = Awaited<ReturnType<typeof readPublished>>[number];

/** The rooms, bound to an open database, as the operator's commands use them. */
export interface Office {
  createAccount(account: { readonly name: string; readonly email: string | null }): Promise<number>;
  readAccount(accountId: number): Promise<AccountRow | null>;
  readAccounts(): Promise<readonly AccountRow[]>;
  grantCredit(grant: Grant): Promise<GrantOutcome>;
  refundGeneration(refund: Refund): Promise<CorrectionOutcome>;
  adjustCredit(adjustment: Adjustment): Promise<CorrectionOutcome>;
  createKey(order: KeyOrder): Promise<{ readonly hash: KeyHash; readonly plaintext: string }>;
  readKey(hash: KeyHash): Promise<KeyRow | null>;
  readKeys(accountId: number): Promise<readonly KeyRow[]>;
  readSpend(key: KeyRow): Promise<Spend>;
  /** How the keys of an account stand now; null when there is no such account. */
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
  /** One record with its account, as it is exported; null when there is none. */
  readGeneration(uuid: GenerationUuid): Promise<object | null>;
  exportGenerations(onlyAccount: number | null): AsyncIterable<object>;
  pruneGenerations(order: PruneOrder): Promise<PruneOutcome>;
  /** `anchors`: where the chains of the ledger stood when a backup was made. */
  verifyLedger(anchors?: ReadonlyMap<number, Anchor>): Promise<Verdict>;
  /** The settlements that the database refused: those that wait for a decision, or all there ever were. */
  readQuarantine(all: boolean): ReturnType<typeof readQuarantine>;
  /** Settles refused settlements once more, one or all. */
  retryQuarantined(only: GenerationUuid | null): Promise<RetryOutcome>;
  /** False when none of this generation waits for a decision. */
  writeOffQuarantined(order: { readonly uuid: GenerationUuid; readonly reason: string }): Promise<boolean>;
  readNodes(): ReturnType<typeof readNodes>;
  /** Takes a lost node out of the list whose journal is gone. */
  writeOffNode(order: { readonly home: string; readonly reason: string }): ReturnType<typeof writeOffNode>;
  /** What publishing the configuration would change of what is published. */
  diffCatalogue(): Promise<readonly CatalogueChange[]>;
  /** Publishes the prices of the configuration; running servers read theirs again. */
  publishCatalogue(): Promise<{ readonly edition: number; readonly changes: readonly CatalogueChange[] }>;
  readPublished(): Promise<readonly PublishedPrice[]>;
  readPriceHistory: (model: string | null) => ReturnType<typeof readHistory>;
  syncDatasets(names: readonly DatasetName[]): ReturnType<DatasetSync['syncNow']>;
  close(): Promise<void>;
}
