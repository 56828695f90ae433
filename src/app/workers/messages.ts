import type { Failure } from '../../errors/catalogue.ts';
import type { DatabaseAddress } from '../../store/connection.ts';

/** The message with which a parent starts a worker. */
export interface WorkerStartMessage {
  readonly worker: number;
  /** See `encodeConfig`. */
  readonly config: string;
  readonly database: DatabaseAddress;
  /** The number of workers on this machine. */
  readonly workers: number;
  readonly poolSize: number;
  readonly home: string;
}

/** The response of an admin page, or its error. */
export type PageAnswer =
  | { readonly response: string | object }
  | { readonly refused: { readonly failure: Failure; readonly message: string; readonly extras: object } };
