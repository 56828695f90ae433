/** What `naru backup` was told. */
export interface BackupOrder {
  /** The folder; null for a new one of its own. */
  readonly to: string | null;
  /** Nodes that cannot be asked are left out instead of failing. */
  readonly withoutNodes: boolean;
}

/** What `naru backup` made. */
export interface BackupDone {
  readonly dir: string;
  /** ISO 8601: everything that was durable then is in it. */
  readonly takenAt: string;
  readonly tables: number;
  readonly rows: number;
  /** The nodes that did not bring in what they had settled, in words. */
  readonly withoutNodes: readonly string[];
}

/** What `naru restore` put into the database. */
export interface RestoreDone {
  readonly takenAt: string;
  readonly tables: number;
  readonly rows: number;
  /** Disagreements of the restored books, as `naru ledger verify` counts them. */
  readonly differences: number;
}
