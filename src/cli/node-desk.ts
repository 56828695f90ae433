/** A data directory, or a worker's part of it, that got a new identity. */
export interface NewIdentity {
  readonly home: string;
  readonly before: string;
  readonly after: string;
  /** The folder that the journal of the old identity is in now; null when there was none. */
  readonly setAside: string | null;
}

/** How `naru node recover` reads a folder. */
export interface RecoverOrder {
  /** A data directory, or a journal folder. */
  readonly dir: string;
  /** It may be older than what the node itself has: requests without an end are left alone, and the node stays in the list. */
  readonly isCopy: boolean;
  /** Take segments of this database too: the books here continue those. Null: only their own. */
  readonly ofDatabase: string | null;
}

/** What `naru node recover` did. */
export interface Recovered {
  /** Charges and records that it found, and how many of them the database had already. */
  readonly settlements: number;
  readonly known: number;
  /** Settlements that the database refuses: see `naru ledger quarantine`. */
  readonly quarantined: number;
  /** Requests without an end that were recorded as failed, and those that were left alone. */
  readonly failed: number;
  readonly unfinished: number;
  /** Segments that cannot be read in whole. */
  readonly damaged: number;
  /** Segments of other databases, by the database. */
  readonly elsewhere: ReadonlyMap<string, number>;
  /** Lost nodes that are no longer listed: their journals are settled. */
  readonly closed: readonly string[];
  /** Nodes that serve: they settle their own requests. */
  readonly alive: readonly string[];
}
