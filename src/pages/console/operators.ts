import { z } from 'zod';
import { refuse } from '../../errors/catalogue.ts';
import { messages, requirements } from '../../errors/messages.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import type { Actor } from '../../identity/audit.ts';
import { type Email, isOperatorName, parseEmail } from '../../identity/email.ts';
import type { Identity } from '../../identity/identity.ts';
import type { InviteFault, ReplaceFault } from '../../identity/links.ts';
import type { NewLink } from '../../identity/links-sql.ts';
import type { OperatorFault } from '../../identity/operators.ts';
import type { Operator, OperatorToken } from '../../identity/operators-sql.ts';
import { linkUrl } from '../../identity/page-links.ts';
import { isoOf } from '../../time/clock.ts';
import type { ConsoleContext } from '../context.ts';
import { emailText } from '../identity-shapes.ts';
import type { PageClient } from '../page-client.ts';
import { pageRoute } from '../page-route.ts';
import { type OperatorSession, roles } from '../page-session.ts';
import { instant, instantText, sentOnceShape } from '../shapes.ts';
import { line } from '../topup-rows.ts';
import { accountIdOf, noSuchAccount } from './account-shape.ts';

const operatorShape = z.strictObject({
  id: z.string(),
  name: z.string(),
  role: z.enum(roles),
  created_at: instant,
});
const linkShape = z.strictObject({
  url: z.string().describe('The whole address; it works once'),
  expires_at: instant,
});
const tokenShape = z.strictObject({
  name: z.string(),
  role: z.enum(roles),
  created_at: instant,
  expires_at: instant,
});
const sentOnce = { members: ['link'], message: pageMessages.linkSentOnce } as const;
const operatorName = z.string().max(320).refine(isOperatorName);
const reason = z.string().max(2_000).optional();

/** Who acts, for the audit log. */
export function actorOf({ operatorId, name, role }: OperatorSession): Actor {
  return { kind: 'operator', operatorId, name, role };
}

/** Operators, their roles and links (admin). */
export function operatorPages(parts: ConsoleContext) {
  return [listPage(parts), addPage(parts), rolePage(parts), removePage(parts), linkPage(parts)];
}

/** Tokens of machines (admin). */
export function tokenPages({ identity }: ConsoleContext) {
  const path = '/console/api/operator-tokens';
  return [
    pageRoute({
      method: 'GET',
      path,
      role: 'admin',
      summary: 'The tokens of machines that were not revoked',
      response: z.strictObject({ items: z.array(tokenShape) }),
      handle: async () => ({ items: (await identity.tokens.list()).map(shownToken) }),
    }),
    pageRoute({
      method: 'POST',
      path,
      credential: 'person',
      role: 'admin',
      summary: 'Create a token with which a machine calls these rows; its plaintext is sent once',
      body: z.object({ name: operatorName, role: z.enum(roles), expires_at: instantText }),
      response: z.strictObject({ ...tokenShape.shape, token: z.string().nullable(), ...sentOnceShape }),
      sentOnce: { members: ['token'], message: pageMessages.tokenSentOnce },
      handle: async ({ session, body }) => {
        const order = { name: body.name.trim(), role: body.role, expiresAtMs: body.expires_at };
        const created = await identity.tokens.create(order, actorOf(session));
        if (created === 'name_taken') throw new PageRefusal('conflict', pageMessages.operatorNameTaken);
        if (created === 'invalid_expiry') throw new PageRefusal('conflict', pageMessages.invalidTokenExpiry);
        return { ...shownToken(created), token: created.plaintext, message: null };
      },
    }),
    pageRoute({
      method: 'DELETE',
      path: `${path}/{name}`,
      credential: 'person',
      role: 'admin',
      summary: 'Revoke a token, effective at once',
      body: z.object({ reason }),
      response: tokenShape,
      handle: async ({ session, params, body }) => {
        const revoked = await identity.tokens.revoke(params.name, body.reason ?? null, actorOf(session));
        if (revoked === null) throw refuse('not_found', messages.noSuchOperator());
        return shownToken(revoked);
      },
    }),
  ];
}

function listPage({ identity }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/operators',
    summary: 'All operators',
    response: z.strictObject({ items: z.array(operatorShape) }),
    handle: async () => ({ items: (await identity.operators.list()).map(shown) }),
  });
}

function addPage(parts: ConsoleContext) {
  const { identity } = parts;
  return pageRoute({
    method: 'POST',
    path: '/console/api/operators',
    credential: 'person',
    role: 'admin',
    summary: 'Add an operator; returns a one-time link for sign-in',
    body: z.object({ name: operatorName, role: z.enum(roles) }),
    response: z.strictObject({ operator: operatorShape, link: linkShape.nullable(), ...sentOnceShape }),
    sentOnce,
    handle: async ({ session, body, client }) => {
      const operator = assertDone(
        await identity.operators.add({ ...body, name: body.name.trim() }, actorOf(session)),
      );
      return {
        operator: shown(operator),
        link: linkOf(parts, await identity.links.openConsole(operator, actorOf(session)), client),
        message: null,
      };
    },
  });
}

function rolePage({ identity }: ConsoleContext) {
  return pageRoute({
    method: 'PATCH',
    path: '/console/api/operators/{id}',
    credential: 'person',
    role: 'admin',
    summary: 'Change a role, effective at once',
    body: z.object({ role: z.enum(roles), reason }),
    response: operatorShape,
    handle: async ({ session, params, body }) => {
      const { name } = await find(identity, params.id);
      return shown(
        assertDone(await identity.operators.setRole(name, body.role, body.reason ?? null, actorOf(session))),
      );
    },
  });
}

function removePage({ identity }: ConsoleContext) {
  return pageRoute({
    method: 'DELETE',
    path: '/console/api/operators/{id}',
    credential: 'person',
    role: 'admin',
    summary: 'Remove an operator and end its sessions at once',
    body: z.object({ reason }),
    response: operatorShape,
    handle: async ({ session, params, body }) => {
      const { name } = await find(identity, params.id);
      return shown(assertDone(await identity.operators.remove(name, body.reason ?? null, actorOf(session))));
    },
  });
}

function linkPage(parts: ConsoleContext) {
  const { identity } = parts;
  return pageRoute({
    method: 'POST',
    path: '/console/api/operators/{id}/link',
    credential: 'person',
    role: 'admin',
    summary: 'Create a one-time link for the sign-in of an operator',
    response: z.strictObject({ link: linkShape.nullable(), ...sentOnceShape }),
    sentOnce,
    handle: async ({ session, params, client }) => {
      const operator = await find(identity, params.id);
      const link = await identity.links.openConsole(operator, actorOf(session));
      return { link: linkOf(parts, link, client), message: null };
    },
  });
}

/** The owner of an account: shown, invited, replaced by another person (A2). */
export function accountOwnerPages(parts: ConsoleContext) {
  return [ownerPage(parts), ...ownerLinkPages(parts)];
}

function ownerPage({ identity }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/accounts/{id}/owner',
    summary: 'The owner of an account; null: nobody has signed up',
    response: z.strictObject({
      owner: z
        .strictObject({
          id: z.int(),
          email: z.string(),
          email_verified: z.boolean(),
          name: z.string().nullable(),
          totp_enabled: z.boolean(),
          created_at: instant,
        })
        .nullable(),
    }),
    handle: async ({ params }) => {
      const owner = await identity.owners.ofAccount(accountIdOf(params.id));
      if (owner === null) return { owner: null };
      return {
        owner: {
          id: owner.ownerId,
          email: owner.email,
          email_verified: owner.emailVerified,
          name: owner.name,
          totp_enabled: owner.totpEnabledAtMs !== null,
          created_at: isoOf(owner.createdAtMs),
        },
      };
    },
  });
}

function ownerLinkPages(parts: ConsoleContext) {
  const { identity, operations } = parts;
  return [
    pageRoute({
      method: 'POST',
      path: '/console/api/accounts',
      credential: 'person',
      role: 'admin',
      summary: 'Create an account and invite its owner; the address is also the contact of the account',
      body: z.object({ name: line(200), email: emailText.optional() }),
      response: z.strictObject({ id: z.int(), link: linkShape.nullable(), ...sentOnceShape }),
      sentOnce,
      handle: async ({ session, body: { name, email: text }, client }) => {
        const email = text === undefined ? null : emailOf(text);
        const actor = actorOf(session);
        const account = { name, email: email?.text ?? null };
        return operations.as(actor).createAccountWith(account, async (sql, id) => {
          const link = await identity.links.inviteWithin(sql, id, email, actor);
          if (typeof link === 'string') throw ownerRefusal(link);
          return { id, link: linkOf(parts, link, client), message: null };
        });
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/accounts/{id}/invitations',
      credential: 'person',
      role: 'admin',
      summary: 'Invite the owner; for the address of the present owner, the link resets the password',
      body: z.object({ email: emailText.optional() }),
      response: z.strictObject({
        purpose: z.enum(['invitation', 'reset']),
        link: linkShape.nullable(),
        ...sentOnceShape,
      }),
      sentOnce,
      handle: async ({ session, params, body, client }) => {
        const email = body.email === undefined ? null : emailOf(body.email);
        const link = await identity.links.invite(accountIdOf(params.id), email, actorOf(session));
        if (typeof link === 'string') throw ownerRefusal(link);
        return {
          purpose: link.purpose === 'reset' ? ('reset' as const) : ('invitation' as const),
          link: linkOf(parts, link, client),
          message: null,
        };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/accounts/{id}/owner/replacement',
      credential: 'person',
      role: 'admin',
      summary:
        'Give the account to another person; the sessions, passkeys and password of the present owner end',
      body: z.object({ email: emailText, reason: line(500) }),
      response: z.strictObject({ link: linkShape.nullable(), ...sentOnceShape }),
      sentOnce,
      handle: async ({ session, params, body, client }) => {
        const accountId = accountIdOf(params.id);
        const email = emailOf(body.email);
        const link = await identity.links.replaceOwner(accountId, email, body.reason, actorOf(session));
        if (typeof link === 'string') throw ownerRefusal(link);
        return { link: linkOf(parts, link, client), message: null };
      },
    }),
  ];
}

function emailOf(text: string): Email {
  const email = parseEmail(text);
  if (email === null) throw refuse('invalid_request', messages.invalidValue('email', requirements.email));
  return email;
}

function ownerRefusal(why: InviteFault | ReplaceFault): Error {
  switch (why) {
    case 'no_such_account':
      return noSuchAccount();
    case 'account_closed':
      return new PageRefusal('conflict', pageMessages.accountClosed);
    case 'email_taken':
      return new PageRefusal('conflict', pageMessages.emailOfAnotherAccount);
    case 'account_has_owner':
      return new PageRefusal('conflict', pageMessages.accountHasOwner);
    case 'no_owner':
      return new PageRefusal('conflict', pageMessages.noOwnerToReplace);
    case 'same_owner':
      return new PageRefusal('conflict', pageMessages.sameOwner);
  }
}

async function find({ operators }: Identity, id: string): Promise<Operator> {
  const found = (await operators.list()).find(({ operatorId }) => String(operatorId) === id);
  if (found === undefined) throw refuse('not_found', messages.noSuchOperator());
  return found;
}

function assertDone(outcome: Operator | OperatorFault): Operator {
  switch (outcome) {
    case 'name_taken':
      throw new PageRefusal('conflict', pageMessages.operatorNameTaken);
    case 'last_admin':
      throw new PageRefusal('conflict', pageMessages.lastAdmin);
    case 'no_such_operator':
      throw refuse('not_found', messages.noSuchOperator());
    default:
      return outcome;
  }
}

function shown(operator: Operator): z.input<typeof operatorShape> {
  return {
    id: String(operator.operatorId),
    name: operator.name,
    role: operator.role,
    created_at: isoOf(operator.createdAtMs),
  };
}

function shownToken({ name, role, createdAtMs, expiresAtMs }: OperatorToken): z.input<typeof tokenShape> {
  return { name, role, created_at: isoOf(createdAtMs), expires_at: isoOf(expiresAtMs) };
}

/** An owner's link leads to the dashboard, an operator's to the console where the browser sees it. */
function linkOf(
  { dashboardOrigin, publicOrigin }: ConsoleContext,
  link: NewLink,
  client: PageClient,
): z.input<typeof linkShape> {
  const origins = { dashboard: dashboardOrigin, console: publicOrigin ?? client.origin };
  return { url: linkUrl(origins, link), expires_at: isoOf(link.expiresAtMs) };
}
