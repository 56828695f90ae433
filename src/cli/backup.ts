/** What `naru backup` made. */
export interface BackupDone {
  readonly dir: string;
  /** ISO 8601: everything that was durable then is in it. */
  readonly takenAt: string;
  readonly tables: number;
  readonly rows: number;
}

/** What `naru restore` put into the database. */
export interface RestoreDone {
  readonly takenAt: string;
  readonly tables: number;
  readonly rows: number;
  /** Disagreements of the restored books, as `naru ledger verify` counts them. */
  readonly differences: number;
}
