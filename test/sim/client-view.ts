/** How a request ended for its client. `cut`: its gateway died under it. `left`: it hung up. */
export type End = 'running' | 'complete' | 'failed' | 'left' | 'cut';

/** What one client was told of one request: the outside of the truth. */
export interface Told {
  /** Also its request id, under which its record is found. */
  readonly id: string;
  readonly accountId: number;
  readonly keyId: number;
  readonly gateway: number;
  readonly sentMs: number;
  readonly wasStreamed: boolean;
  /** Its key had expired by its gateway's clock when it was sent, and that clock did not jump until its end. */
  wasExpired: boolean;
  end: End;
  /** The name of its record, once its answer has begun. */
  generation: string | null;
  /** What its usage says it cost, micro-won. */
  cost: bigint | null;
  status: number | null;
  endedMs: number | null;
  /** Its settlement was given up while nothing durable could be had, and the process ended before it could say so anywhere. */
  isUnsaid: boolean;
}
