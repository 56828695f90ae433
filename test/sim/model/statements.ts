import type { Sql } from '../../../src/store/sql.ts';
import { keyStatements } from './keys.ts';
import { moneyStatements } from './money.ts';
import { nodeStatements } from './nodes.ts';
import { priceStatements } from './prices.ts';
import { recordStatements } from './records.ts';
import { normalized, type Statement } from './statement.ts';
import { ServerError, type Transaction } from './transactions.ts';

const known = new Map(
  [...nodeStatements, ...moneyStatements, ...keyStatements, ...recordStatements, ...priceStatements].map(
    (statement) => [statement.text, statement],
  ),
);
const normal = new Map<string, string>();

/** The model's implementation of this statement; throws for an unknown one. */
function statementOf(text: string): Statement {
  const short = normal.get(text) ?? normalized(text);
  normal.set(text, short);
  const statement = known.get(short);
  if (statement === undefined) throw new Error(`the model of the store has no statement: ${short}`);
  return statement;
}

/**
 * Runs one statement in a transaction: locks first, which may take a while, then everything at one
 * instant.
 */
export async function execute(
  tx: Transaction,
  text: string,
  values: readonly unknown[],
): Promise<readonly object[]> {
  if (tx.failed) throw new ServerError('25P02', 'current transaction is aborted');
  try {
    const statement = statementOf(text);
    for (const name of statement.locks?.(tx, values) ?? []) await tx.store.acquire(tx, name);
    return statement.run(tx, values);
  } catch (error) {
    tx.fail();
    throw error;
  }
}

/** A transaction as its callers see it. */
export function sqlIn(tx: Transaction): Sql {
  return {
    query: async (text: string, values: readonly unknown[] = []) =>
      (await execute(tx, text, values)) as never,
  };
}
