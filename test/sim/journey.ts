import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * What must have happened at least once in a run of many seeds: a simulation without it proves
 * nothing about it.
 */
export const goals = [
  'a process died after a sync and before its commit',
  'a process died before a commit',
  'a process died after a commit',
  'a process died before a sync',
  'a process died after a sync',
  'a COMMIT was done and its response lost',
  'a COMMIT was lost before it was done',
  'a repeated settlement found its row settled',
  'a replay of the journal found a row settled',
  'a replay of the journal settled a row',
  'an admitted request without an end was recorded as failed',
  'the power failed and tore the journal',
  'the power failed and left a hole in the journal',
  'a disk refused the journal',
  'a settlement was neither journaled nor committed: the response was not completed',
  'a process ended with a settlement that it had abandoned',
  'a release request was granted',
  'a request waited in the queue and was admitted',
  'a client disconnected while its request was queued',
  'a request that waited at one of several nodes was admitted',
  'a request was admitted alone, above the remaining credit',
  'a refusal was compared with the settled figures',
  'a request was refused at the floor',
  'a request was refused at the limit of its key',
  'a request was refused because its key was revoked',
  'a request was refused because its key was disabled',
  'a request was refused because its key had expired',
  'a request was refused while the database was away',
  'a node was considered lost and came back',
  'a client that disconnected in the middle of a stream was billed',
  'a stream was broken by its process',
  'an upstream failed and another responded',
  'a price changed while a request was in flight',
  'a key was revoked while its request was in flight',
  'a clock jumped forwards while a request was in flight',
  'a clock jumped back while a request was in flight',
  'a process was stopped in the middle of requests',
  'a settlement was committed before its response was complete, as is configured',
  'a limit was lowered while requests of its key were in flight',
  'credit expired',
  'credit was deducted',
  'a response was refunded',
  'a refund was given back to the limit of its key',
  'a refund was refused because everything had been refunded',
  'a client read the record of its response',
  'a tenant requested the record of another and got not found',
  'three or more nodes spent credit of one account at once',
  'an account was evicted and loaded again',
  'a key was evicted and loaded again',
  'an account was not evicted because a request used it',
  'an account was not evicted because a charge was not committed',
] as const;
export type Goal = (typeof goals)[number];

const keptLines = 50;

/**
 * What happened in one simulation: its last lines, a hash of all of them, and which goals were met.
 */
export class Journey {
  readonly counts = new Map<Goal, number>();
  readonly last: string[] = [];
  #hash = '';
  #pending = '';
  readonly #print: ((line: string) => void) | null;

  constructor(print: ((line: string) => void) | null = null) {
    this.#print = print;
  }

  note(line: string): void {
    this.last.push(line);
    if (this.last.length > keptLines) this.last.shift();
    this.#pending += `${line}\n`;
    if (this.#pending.length > 65_536) this.#merge();
    this.#print?.(line);
  }

  met(goal: Goal): void {
    this.counts.set(goal, (this.counts.get(goal) ?? 0) + 1);
  }

  /** Of every line so far: two simulations with one hash are the same. */
  get hash(): string {
    this.#merge();
    return this.#hash;
  }

  #merge(): void {
    if (this.#pending === '') return;
    this.#hash = hash('sha256', `${this.#hash}${crc32(this.#pending)}${this.#pending}`);
    this.#pending = '';
  }
}

/** What must never be: the simulation ends with it. */
export class Violation extends Error {
  override readonly name = 'Violation';
}
