import { type OperatorRole, operatorRoles } from '../identity/audit.ts';
import type { Session } from '../identity/sessions.ts';

/**
 * The dashboard is for account owners on the public listener, the console for operators on the
 * admin listener.
 */
export type Area = 'dashboard' | 'console';

/** The rights of an operator, least first: each includes those before it. */
export const roles = operatorRoles;
export type Role = OperatorRole;

/** The session of an account owner: it sees this account and no other. */
export type OwnerSession = Extract<Session, { kind: 'owner' }>;

/** The session of an operator in the console. */
export type OperatorSession = Extract<Session, { kind: 'operator' }>;

export type PageSession = Session;

/** What the page API needs of the identity room on every request. */
export interface Sessions {
  /**
   * The session of a cookie's token; null when it does not exist, has ended or was revoked. Reads
   * the database each time, so that a revocation holds on every node at once.
   */
  findSession(token: string): Promise<PageSession | null>;
  /** Who sends an operator's token, read from the database too; null as above. */
  findOperatorToken(token: string): Promise<PageSession | null>;
  /** Counts a wrong token of a client; returns in how many seconds the next may be sent, or null. */
  countWrongToken(limitedAs: string): Promise<number | null>;
}

/** Whether a role includes another. */
export function includesRole(role: Role, wanted: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(wanted);
}
