/**
 * How a request ended for its client. `cut`: its gateway died under it. `left`: it disconnected.
 */
export type End = 'running' | 'complete' | 'failed' | 'left' | 'cut';

/** What one client received for one request: the external view. */
export interface ClientView {
  /** Also its request id, under which its record is found. */
  readonly id: string;
  readonly accountId: number;
  readonly keyId: number;
  readonly gateway: number;
  readonly sentMs: number;
  readonly wasStreamed: boolean;
  /** Its key had expired a second before it was sent. */
  readonly wasExpired: boolean;
  end: End;
  /** The name of its record, once its response has begun. */
  generation: string | null;
  /** The cost in its usage, micro-won. */
  cost: bigint | null;
  status: number | null;
  endedMs: number | null;
  /**
   * Its settlement was given up while nothing could be made durable, and the process ended before
   * it could record that anywhere.
   */
  isUnrecorded: boolean;
}
