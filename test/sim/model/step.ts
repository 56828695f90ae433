import type { Statement } from '../../../src/store/pipeline.ts';
import type { Sql } from '../../../src/store/sql.ts';
import { ServerError, type Transaction } from './transactions.ts';

/** What a function of the store does in the database at one instant, in place of a statement. */
export interface Step<T = unknown> {
  readonly run: (tx: Transaction) => T;
  /** The rows that it locks before it does anything, in order. */
  readonly locks: (tx: Transaction) => readonly string[];
  /** The generations that it settles, or finds settled. */
  readonly batch?: readonly string[];
}

/** A step in the form of a statement, for functions that return one; its rows are what `run` returns. */
export function statementOf(
  run: (tx: Transaction) => readonly object[],
  { locks = () => [], batch }: Partial<Pick<Step, 'locks' | 'batch'>> = {},
): Statement {
  const step: Step = { run, locks, ...(batch && { batch }) };
  return { name: '', text: '', values: [], ...step };
}

/** Runs a step where a function of the store would run a statement. */
export async function on<T>(
  sql: Sql,
  run: (tx: Transaction) => T,
  locks: Step['locks'] = () => [],
): Promise<T> {
  const step: Step<T> = { run, locks };
  return (await sql.query(step as unknown as string)) as unknown as T;
}

/** What a connection received as a step; throws for the text of a statement. */
export function stepOf(request: unknown): Step {
  if (typeof request === 'object' && request !== null && 'run' in request) return request as Step;
  const text = typeof request === 'string' ? request : (request as Statement).text;
  throw new Error(`the function of the store that sends this has no model: ${text}`);
}

/**
 * Runs one step in a transaction: locks first, which may take a while, then everything at one
 * instant.
 */
export async function execute(tx: Transaction, request: unknown): Promise<unknown> {
  if (tx.failed) throw new ServerError('25P02', 'current transaction is aborted');
  try {
    const { locks, run } = stepOf(request);
    for (const name of locks(tx)) await tx.store.acquire(tx, name);
    return run(tx);
  } catch (error) {
    tx.fail();
    throw error;
  }
}

/** A transaction as its callers see it. */
export function sqlIn(tx: Transaction): Sql {
  return { query: async (request: string) => (await execute(tx, request)) as never };
}
