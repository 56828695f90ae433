/** The dashboard is for account owners on the public listener, the console for operators on the admin listener. */
export type Area = 'dashboard' | 'console';

/** The rights of an operator, least first: each includes those before it. */
export const roles = ['viewer', 'support', 'admin'] as const;
export type Role = (typeof roles)[number];

/** The session of an account owner: it sees this account and no other. */
export interface OwnerSession {
  readonly sessionId: string;
  readonly kind: 'owner';
  readonly accountId: number;
  /** Null when a management key opened the session. */
  readonly ownerId: number | null;
  /** How it was opened. */
  readonly via: string;
}

/** The session of an operator in the console. */
export interface OperatorSession {
  readonly sessionId: string;
  readonly kind: 'operator';
  readonly operatorId: number;
  readonly name: string;
  readonly role: Role;
}

export type PageSession = OwnerSession | OperatorSession;

/** What the page API needs of the identity room. */
export interface Sessions {
  /**
   * The session of a cookie's token; null when it does not exist, has ended or was revoked. Reads the database each time, so that a
   * revocation holds on every node at once.
   */
  findSession(token: string): Promise<PageSession | null>;
}

/** Whether a role includes another. */
export function includesRole(role: Role, wanted: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(wanted);
}
