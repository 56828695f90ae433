import {
  type AccountRow,
  findAccount,
  insertAccount,
  listAccounts,
  setName,
} from '../accounts/accounts-sql.ts';
import { closeAccount, type SuspensionOutcome, suspendAccount } from '../accounts/suspension.ts';
import { recordAct } from '../identity/audit-sql.ts';
import { deleteSessions } from '../identity/sessions-sql.ts';
import { readUsageParts, type UsageParts } from '../ledger/lines-sql.ts';
import type { Sql } from '../store/sql.ts';
import { balanceOfAccount } from './audit-sql.ts';
import { audited } from './audited.ts';
import type { OperationsContext } from './operations-context.ts';

interface NewAccount {
  readonly name: string;
  readonly email: string | null;
}

function accountCreation({ database, clock, actor }: OperationsContext) {
  /** Returns what `make` makes of the account in the same transaction; nothing is left where it throws. */
  const createAccountWith = <T>(
    account: NewAccount,
    make: (sql: Sql, accountId: number) => Promise<T>,
  ): Promise<T> =>
    database.transaction(async (sql) => {
      const accountId = await insertAccount(sql, { ...account, createdAtMs: clock.now() });
      await recordAct(sql, actor, { act: 'account.create', accountId }, clock.now());
      return make(sql, accountId);
    });
  return {
    /** Returns the id. */
    createAccount: (account: NewAccount): Promise<number> => createAccountWith(account, async (_, id) => id),

    createAccountWith,
  };
}

/** Creates, renames, suspends, closes and reads accounts. */
export function accountOperations(context: OperationsContext) {
  const { database, clock } = context;
  return {
    ...accountCreation(context),

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

    /**
     * Closes an account: its keys are revoked, its sessions end, and nobody signs in for it. Or opens
     * it again, without its keys. The act has the balance, which stays in the ledger.
     */
    closeAccount: (change: {
      readonly accountId: number;
      readonly closed: boolean;
      readonly reason: string;
    }): Promise<SuspensionOutcome> =>
      audited<SuspensionOutcome>(context, async (outcome, _before, sql) => {
        if (outcome.kind !== 'done') return null;
        const { accountId, closed, reason } = change;
        const balance = await balanceOfAccount(sql, accountId);
        return {
          act: closed ? 'account.close' : 'account.reopen',
          accountId,
          reason,
          before: { closed: !closed },
          after: { closed, balance_micro: balance, ...(closed && { keys_revoked: outcome.keys }) },
        };
      }).transaction(async (sql) => {
        const outcome = await closeAccount(sql, change, clock.now());
        const sessions = { kind: 'account', accountId: change.accountId } as const;
        if (outcome.kind === 'done') await deleteSessions(sql, sessions, { except: null });
        return outcome;
      }),

    /** False: no such account. The log names the account by its id: a name may be that of a person. */
    renameAccount: (accountId: number, name: string): Promise<boolean> =>
      audited<boolean>(context, (isDone) =>
        isDone ? { act: 'account.rename', accountId } : null,
      ).transaction((sql) => setName(sql, accountId, name)),

    readAccount: (accountId: number): Promise<AccountRow | null> => findAccount(database, accountId),

    readUsageParts: ({ accountId, usage }: AccountRow): Promise<UsageParts> =>
      readUsageParts(database, accountId, usage),

    readAccounts: (): Promise<readonly AccountRow[]> => listAccounts(database),
  };
}
