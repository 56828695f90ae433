import { type AccountRow, findAccount, insertAccount, listAccounts } from '../accounts/accounts-sql.ts';
import { type SuspensionOutcome, suspendAccount } from '../accounts/suspension.ts';
import { audited } from './audited.ts';
import type { OperationsContext } from './operations-context.ts';

/** Creates and reads accounts. */
export function accountOperations(context: OperationsContext) {
  const { database, clock } = context;
  return {
    /** Returns the id. */
    createAccount: (account: { readonly name: string; readonly email: string | null }): Promise<number> =>
      audited<number>(context, (accountId) => ({ act: 'account.create', accountId })).transaction((sql) =>
        insertAccount(sql, { ...account, createdAtMs: clock.now() }),
      ),

    /** Suspends all keys of an account, later ones included, or lifts that. */
    suspendAccount: (change: {
      readonly accountId: number;
      readonly suspended: boolean;
      readonly reason: string | null;
    }): Promise<SuspensionOutcome> =>
      suspendAccount(
        audited<SuspensionOutcome>(context, (outcome) =>
          outcome.kind === 'done'
            ? {
                act: change.suspended ? 'account.suspend' : 'account.resume',
                accountId: change.accountId,
                reason: change.reason,
                before: { suspended: !change.suspended },
                after: { suspended: change.suspended, keys: outcome.keys },
              }
            : null,
        ),
        change,
        clock.now(),
      ),

    readAccount: (accountId: number): Promise<AccountRow | null> => findAccount(database, accountId),

    readAccounts: (): Promise<readonly AccountRow[]> => listAccounts(database),
  };
}
