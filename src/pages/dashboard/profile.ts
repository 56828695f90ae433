import { z } from 'zod';
import { refuse } from '../../errors/catalogue.ts';
import { messages } from '../../errors/messages.ts';
import { pageMessages } from '../../errors/page-messages.ts';
import { PageRefusal } from '../../errors/page-refusal.ts';
import type { Identity } from '../../identity/identity.ts';
import type { Owner } from '../../identity/owners-sql.ts';
import { isoOf, isoOrNull } from '../../time/clock.ts';
import type { DashboardContext } from '../context.ts';
import { personName } from '../identity-shapes.ts';
import { PageReply, sessionCookie } from '../page-reply.ts';
import { pageRoute } from '../page-route.ts';
import { instant } from '../shapes.ts';
import { confirmation, confirmedOwner, ownerOf } from './confirm.ts';

const languages = ['ko', 'en'] as const;
const themes = ['system', 'light', 'dark'] as const;
const ownerShape = z.strictObject({
  id: z.int(),
  email: z.string(),
  email_verified: z.boolean(),
  name: z.string().nullable(),
  language: z.enum(languages).nullable(),
  theme: z.enum(themes).nullable(),
  has_password: z.boolean(),
  totp_enabled_at: instant.nullable(),
  recovery_codes_left: z.int(),
  created_at: instant,
});

/** The owner's profile, preferences and personal data (U12). */
export function profilePages(parts: DashboardContext) {
  return [readPage(parts), changePage(parts), exportPage(parts), deletePage(parts)];
}

function readPage({ identity }: DashboardContext) {
  return pageRoute({
    method: 'GET',
    path: '/dashboard/api/profile',
    summary: 'The owner who is signed in; `owner_required` for a session of the account itself',
    response: ownerShape,
    handle: async ({ session }) => shown(identity, await identity.owners.read(ownerOf(session))),
  });
}

function changePage({ identity }: DashboardContext) {
  return pageRoute({
    method: 'PATCH',
    path: '/dashboard/api/profile',
    summary: 'Change name, language or theme',
    body: z.object({
      name: personName.optional(),
      language: z.enum(languages).optional(),
      theme: z.enum(themes).optional(),
    }),
    response: ownerShape,
    handle: async ({ session, body: { name, ...preferences } }) => {
      const stated = Object.fromEntries(
        Object.entries(preferences).filter(([, value]) => value !== undefined),
      );
      const change = { ...(name === undefined ? {} : { name }), preferences: stated };
      return shown(identity, await identity.owners.updateProfile(ownerOf(session), change));
    },
  });
}

function exportPage({ identity }: DashboardContext) {
  return pageRoute({
    method: 'GET',
    path: '/dashboard/api/personal-data',
    summary: 'All personal data of the owner, without secrets, as a file',
    response: z.looseObject({}),
    handle: async ({ session }) => {
      const data = await identity.owners.exportData(ownerOf(session));
      if (data === null) throw refuse('not_found', messages.noSuchPage());
      return new PageReply({
        body: data,
        headers: { 'Content-Disposition': 'attachment; filename="naru-personal-data.json"' },
      });
    },
  });
}

function deletePage({ identity }: DashboardContext) {
  return pageRoute({
    method: 'DELETE',
    path: '/dashboard/api/personal-data',
    summary: 'Delete the owner and the personal data, and sign out; the account and its ledger stay',
    body: z.object(confirmation),
    response: z.strictObject({ deleted: z.boolean() }),
    handle: async (call) => {
      const deleted = await identity.owners.deleteData(await confirmedOwner(identity, call));
      const cookies = [sessionCookie('dashboard', null, call.client)];
      return new PageReply({ body: { deleted }, cookies });
    },
  });
}

async function shown(identity: Identity, owner: Owner | null): Promise<z.input<typeof ownerShape>> {
  if (owner === null) throw new PageRefusal('owner_required', pageMessages.ownerRequired);
  const { preferences } = owner;
  return {
    id: owner.ownerId,
    email: owner.email,
    email_verified: owner.emailVerified,
    name: owner.name,
    language: preferences.language ?? null,
    theme: preferences.theme ?? null,
    has_password: owner.passwordSetAtMs !== null,
    totp_enabled_at: isoOrNull(owner.totpEnabledAtMs),
    recovery_codes_left: await identity.owners.recoveryCodesLeft(owner.ownerId),
    created_at: isoOf(owner.createdAtMs),
  };
}
