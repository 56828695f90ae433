import type { Actor } from '../identity/audit.ts';
import type { Identity } from '../identity/identity.ts';
import { krwOfMicro } from '../money/krw.ts';
import type { Database } from '../store/database.ts';
import { accountOperations } from './account-operations.ts';
import { announcementOperations } from './announcement-operations.ts';
import { catalogueOperations } from './catalogue-operations.ts';
import { creditOperations } from './credit-operations.ts';
import { drainOperations } from './drain-operations.ts';
import { erasureOperations } from './erasure.ts';
import { keyOperations } from './key-operations.ts';
import { openIdentity } from './open-identity.ts';
import type { OperationsContext } from './operations-context.ts';
import { paymentOperations } from './payment-operations.ts';
import { recordOperations } from './record-operations.ts';
import { settlementOperations } from './settlement-operations.ts';
import { topupOperations } from './topup-operations.ts';
import { usageOperations } from './usage-operations.ts';

/** What the service is created with; the database comes beside it. */
interface OperatorServiceOptions
  extends Pick<OperationsContext, 'clock' | 'keyPrefix' | 'catalogue' | 'payments' | 'datasets'>,
    Partial<Pick<OperationsContext, 'actor' | 'maxKeysPerAccount' | 'supportCreditLimit'>> {
  /** Absent: one without an OpenID provider. */
  readonly identity?: Identity;
  readonly close: () => Promise<void>;
}

/**
 * The use cases that commands and the console share, on an open database. Each subject has a file;
 * each change is in the audit log.
 */
export interface OperatorService extends Operations {
  /** Owners, operators, sessions and the audit log. */
  readonly identity: Identity;
  /** Who acts. */
  readonly actor: Actor;
  /** The same service for another actor, whose role and name are in the audit log. */
  as(actor: Actor): OperatorService;
  close(): Promise<void>;
}

type Operations = ReturnType<typeof operationsOf>;

/** The actor of a command. */
export const commandLine: Actor = { kind: 'cli', name: 'cli' };

/**
 * Creates the operator service on an open database; `close` is called when the command ends. Absent
 * options: the command line acts, an account may have any number of keys, and an operator with the
 * role support grants nothing.
 */
export function createOperatorService(
  database: Database,
  { close, ...options }: OperatorServiceOptions,
): OperatorService {
  const { clock, actor = commandLine } = options;
  const identity = options.identity ?? openIdentity(database, clock, null);
  return {
    ...operationsOf({
      maxKeysPerAccount: Number.POSITIVE_INFINITY,
      supportCreditLimit: krwOfMicro(0n),
      ...options,
      database,
      actor,
    }),
    identity,
    actor,
    as: (other) => createOperatorService(database, { ...options, close, actor: other }),
    close,
  };
}

function operationsOf(context: OperationsContext) {
  return {
    ...accountOperations(context),
    ...announcementOperations(context),
    ...creditOperations(context),
    ...erasureOperations(context),
    ...topupOperations(context),
    ...paymentOperations(context),
    ...keyOperations(context),
    ...settlementOperations(context),
    ...recordOperations(context),
    ...catalogueOperations(context),
    ...drainOperations(context),
    ...usageOperations(context),
  };
}
