import assert from 'node:assert/strict';
import { argon2Sync, createHash } from 'node:crypto';
import { after } from 'node:test';
import { insertAccount } from '../../src/accounts/accounts-sql.ts';
import type { OidcConfig } from '../../src/config/config.ts';
import type { Actor } from '../../src/identity/audit.ts';
import { parseEmail } from '../../src/identity/email.ts';
import { createIdentity, type Identity } from '../../src/identity/identity.ts';
import { insertOwner } from '../../src/identity/owners-sql.ts';
import { PasswordHasher } from '../../src/identity/password-hasher.ts';
import type { SignInClient } from '../../src/identity/sessions.ts';
import type { SignInOutcome } from '../../src/identity/sign-in.ts';
import { Database } from '../../src/store/database.ts';
import { createTestDatabase } from '../harness/database.ts';
import { TestClock } from '../harness/test-clock.ts';
import { byTier } from '../harness/tier.ts';

/** Identity on a real database, as two nodes of it, with a clock that the test sets. */
export interface IdentityWorld {
  readonly database: Database;
  readonly clock: TestClock;
  readonly identity: Identity;
  /** Another node of the same database. */
  readonly other: Identity;
  /**
   * A node that hashes passwords at the cost of production. The others do so in the full tier only:
   * one hash takes 90 ms of a processor.
   */
  readonly costly: Identity;
  account(name?: string, email?: string): Promise<number>;
  /** An owner with the password of the tests, and a session of it. */
  owner(accountId: number, email: string): Promise<{ readonly token: string; readonly ownerId: number }>;
}

export const cli: Actor = { kind: 'cli', name: 'tests' };
export const password = 'correct horse battery';

/**
 * Of that password, with the least cost: fixtures take no time. A sign-in by password replaces it
 * by one of full cost.
 */
export const cheapHash = hashOf(password, 64, 1);

/** Computes the same with the least cost. */
export const cheapHasher = new PasswordHasher({ memoryKib: 64, passes: 1, parallelism: 1 });

/** A hash of argon2id as the room stores it. */
export function hashOf(text: string, memory: number, passes: number): string {
  const nonce = Buffer.alloc(16, 7);
  const message = Buffer.from(text);
  const tag = argon2Sync('argon2id', { message, nonce, memory, passes, parallelism: 1, tagLength: 32 });
  const bare = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
  return `$argon2id$v=19$m=${memory},t=${passes},p=1$${bare(nonce)}$${bare(tag)}`;
}

let addresses = 0;

/**
 * A browser; without an address it has one of its own, so that the limits of others do not apply.
 */
export function browser(address?: string, earlierToken: string | null = null): SignInClient {
  addresses += 1;
  const own = address ?? `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
  return { address: own, limitedAs: own, userAgent: 'Test/1.0', earlierToken };
}

/** The token of a session that was opened; fails the test for any other outcome. */
export function tokenOf(outcome: SignInOutcome | { readonly kind: 'refused'; readonly why: string }): string {
  assert.equal(outcome.kind, 'session', JSON.stringify(outcome));
  return outcome.kind === 'session' ? outcome.session.token : '';
}

/** Opens a world for the tests of one file, which closes it at its end. */
export async function openWorld(oidc: OidcConfig | null = null): Promise<IdentityWorld> {
  const testDatabase = await createTestDatabase();
  const clock = new TestClock();
  const database = new Database(testDatabase.address);
  const second = new Database(testDatabase.address);
  after(async () => {
    await second.close();
    await database.close();
    await testDatabase.drop();
  });
  const identity = identityOn(database, clock, oidc);
  return {
    database,
    clock,
    identity,
    other: identityOn(second, clock, oidc),
    costly: identityOn(database, clock, oidc, new PasswordHasher()),
    account: (name = 'test', email) =>
      database.transaction((sql) =>
        insertAccount(sql, { name, email: email ?? null, createdAtMs: clock.now() }),
      ),
    async owner(accountId, email) {
      const parsed = parseEmail(email) ?? assert.fail(email);
      return database.transaction(async (sql) => {
        const { ownerId } = await insertOwner(sql, {
          accountId,
          email: parsed,
          emailVerified: true,
          name: null,
          password: cheapHash,
          createdAtMs: clock.now(),
        });
        const { token } = await identity.sessions.open(sql, { accountId, ownerId }, 'link', browser());
        return { token, ownerId };
      });
    },
  };
}

/** A further node of a world, with other settings. */
export function openIdentityAt({ database, clock }: IdentityWorld, oidc: OidcConfig | null): Identity {
  return identityOn(database, clock, oidc);
}

function identityOn(
  database: Database,
  clock: TestClock,
  oidc: OidcConfig | null,
  hasher = byTier(cheapHasher, new PasswordHasher()),
): Identity {
  return createIdentity({
    database,
    clock,
    oidc,
    hasher,
    createAccount: (sql, account) => insertAccount(sql, { ...account, createdAtMs: clock.now() }),
  });
}

/** The stored form of a token, computed by the test itself. */
export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
