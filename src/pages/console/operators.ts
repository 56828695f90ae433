import { z } from 'zod';
import { refuse } from '../../errors/catalogue.ts';
import { messages, requirements } from '../../errors/messages.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import type { Actor } from '../../identity/audit.ts';
import { parseEmail } from '../../identity/email.ts';
import type { Identity } from '../../identity/identity.ts';
import type { NewLink } from '../../identity/links.ts';
import type { Operator, OperatorFault } from '../../identity/operators.ts';
import { isoOf } from '../../time/clock.ts';
import { emailText } from '../identity-shapes.ts';
import { pageRoute } from '../page-route.ts';
import { type OperatorSession, roles } from '../page-session.ts';
import { instant } from '../shapes.ts';

/** What the rows of operators and of the owners of accounts need. */
export interface OperatorPageParts {
  readonly identity: Identity;
}

const operatorShape = z.strictObject({
  id: z.string(),
  name: z.string(),
  role: z.enum(roles),
  created_at: instant,
});
const linkShape = z.strictObject({
  path: z
    .string()
    .describe('A path below the origin of the console, or of the dashboard for an owner; it works once'),
  expires_at: instant,
});
const operatorName = z.string().regex(/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,59}$/u);
const reason = z.string().max(2_000).optional();

/** Who acts, for the audit log. */
export function actorOf({ operatorId, name, role }: OperatorSession): Actor {
  return { kind: 'operator', operatorId, name, role };
}

/** Operators, their roles and links (admin). */
export function operatorPages(parts: OperatorPageParts) {
  return [listPage(parts), addPage(parts), rolePage(parts), removePage(parts), linkPage(parts)];
}

function listPage({ identity }: OperatorPageParts) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/operators',
    area: 'console',
    credential: 'session',
    summary: 'All operators',
    response: z.strictObject({ items: z.array(operatorShape) }),
    handle: async () => ({ items: (await identity.operators.list()).map(shown) }),
  });
}

function addPage({ identity }: OperatorPageParts) {
  return pageRoute({
    method: 'POST',
    path: '/console/api/operators',
    area: 'console',
    credential: 'session',
    role: 'admin',
    summary: 'Add an operator; returns a one-time link for sign-in',
    body: z.object({ name: operatorName, role: z.enum(roles) }),
    response: z.strictObject({ operator: operatorShape, link: linkShape }),
    handle: async ({ session, body }) => {
      const operator = assertDone(
        await identity.operators.add({ ...body, name: body.name.trim() }, actorOf(session)),
      );
      return {
        operator: shown(operator),
        link: linkOf(await identity.links.openConsole(operator, actorOf(session))),
      };
    },
  });
}

function rolePage({ identity }: OperatorPageParts) {
  return pageRoute({
    method: 'PATCH',
    path: '/console/api/operators/{id}',
    area: 'console',
    credential: 'session',
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

function removePage({ identity }: OperatorPageParts) {
  return pageRoute({
    method: 'DELETE',
    path: '/console/api/operators/{id}',
    area: 'console',
    credential: 'session',
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

function linkPage({ identity }: OperatorPageParts) {
  return pageRoute({
    method: 'POST',
    path: '/console/api/operators/{id}/link',
    area: 'console',
    credential: 'session',
    role: 'admin',
    summary: 'Create a one-time link for the sign-in of an operator',
    response: linkShape,
    handle: async ({ session, params }) =>
      linkOf(await identity.links.openConsole(await find(identity, params.id), actorOf(session))),
  });
}

/** The owners of an account, and invitations (A2). */
export function accountOwnerPages({ identity }: OperatorPageParts) {
  return [
    pageRoute({
      method: 'GET',
      path: '/console/api/accounts/{id}/owners',
      area: 'console',
      credential: 'session',
      summary: 'The owners of an account',
      response: z.strictObject({
        items: z.array(
          z.strictObject({
            id: z.int(),
            email: z.string(),
            email_verified: z.boolean(),
            name: z.string().nullable(),
            totp_enabled: z.boolean(),
            created_at: instant,
          }),
        ),
      }),
      handle: async ({ params }) => {
        const owners = await identity.owners.list(accountIdOf(params.id));
        return {
          items: owners.map((owner) => ({
            id: owner.ownerId,
            email: owner.email,
            email_verified: owner.emailVerified,
            name: owner.name,
            totp_enabled: owner.totpEnabledAtMs !== null,
            created_at: isoOf(owner.createdAtMs),
          })),
        };
      },
    }),
    pageRoute({
      method: 'POST',
      path: '/console/api/accounts/{id}/invitations',
      area: 'console',
      credential: 'session',
      role: 'admin',
      summary: 'Invite an owner; for the address of an existing owner, the link resets the password',
      body: z.object({ email: emailText.optional() }),
      response: z.strictObject({ purpose: z.enum(['invitation', 'reset']), link: linkShape }),
      handle: async ({ session, params, body }) => {
        const email = body.email === undefined ? null : parseEmail(body.email);
        if (body.email !== undefined && email === null)
          throw refuse('invalid_request', messages.invalidValue('email', requirements.email));
        const link = await identity.links.invite(accountIdOf(params.id), email, actorOf(session));
        if (link === 'no_such_account') throw refuse('not_found', messages.noSuchAccount());
        if (link === 'email_of_another_account')
          throw new PageRefusal('conflict', pageMessages.emailOfAnotherAccount);
        return {
          purpose: link.purpose === 'reset' ? ('reset' as const) : ('invitation' as const),
          link: linkOf(link),
        };
      },
    }),
  ];
}

function accountIdOf(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw refuse('not_found', messages.noSuchAccount());
  return Number(text);
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

function linkOf({ purpose, token, expiresAtMs }: NewLink): z.input<typeof linkShape> {
  const area = purpose === 'console' ? 'console' : 'dashboard';
  return { path: `/${area}/link#${token}`, expires_at: isoOf(expiresAtMs) };
}
