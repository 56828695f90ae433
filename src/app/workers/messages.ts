import type { Failure } from '../../errors/catalogue.ts';
import type { DatabaseAddress } from '../../store/connection.ts';

/** What a parent tells its worker when it is to serve. */
export interface WorkerStartMessage {
  readonly worker: number;
  /** See `encodeConfig`. */
  readonly config: string;
  readonly database: DatabaseAddress;
  /** How many workers share the machine. */
  readonly workers: number;
  readonly poolSize: number;
  readonly home: string;
}

/** What a page of the admin port says, or why it refuses. */
export type PageAnswer =
  | { readonly response: string | object }
  | { readonly refused: { readonly failure: Failure; readonly message: string; readonly extras: object } };
