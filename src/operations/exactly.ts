import { OutcomeUnknown } from '../errors/outcome-unknown.ts';
import { isConnectionLoss } from '../store/connection.ts';

const maxTries = 3;

/**
 * Makes a change that has an effect once however often it is made, again when its outcome is not
 * known (spec:operator/1.13). Throws `OutcomeUnknown` when it stays so: also when the database is away by then.
 */
export async function exactly<T>(change: () => Promise<T>): Promise<T> {
  let unknown: OutcomeUnknown | null = null;
  for (let tries = 1; ; tries += 1) {
    try {
      return await change();
    } catch (error) {
      if (error instanceof OutcomeUnknown) unknown = error;
      if (unknown === null || !isConnectionLoss(error)) throw error;
      if (tries === maxTries) throw unknown;
    }
  }
}
