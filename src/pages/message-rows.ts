import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal } from '../errors/page-refusal.ts';
import { parseEmail } from '../identity/email.ts';
import {
  deleteChoice,
  type MessageSubject,
  messageChannels,
  readChoices,
  setChoice,
} from '../messages/choices-sql.ts';
import { kindsFor, type MessageKind, messageLanguages } from '../messages/kinds.ts';
import { insertTest, type LoggedMessage, listMessages } from '../messages/outbox-sql.ts';
import { newWebhookSecret, webhookUrlOf } from '../messages/webhook.ts';
import { isoOf, isoOrNull } from '../time/clock.ts';
import { integerText } from '../wire/shapes/query.ts';
import { actorOf } from './console/operators.ts';
import type { SitePageContext } from './context.ts';
import { pageOfRows } from './cursor.ts';
import { emailText } from './identity-shapes.ts';
import { pageRoute } from './page-route.ts';
import { type Area, includesRole, type PageSession } from './page-session.ts';
import { instant, pageOf, sentOnceShape } from './shapes.ts';

const pageSize = 50;
const maxTestsPerMinute = 5;
const language = z.enum(messageLanguages);
const channel = z.enum(messageChannels);
const states = ['sent', 'waiting', 'failed'] as const;
const messageShape = z.strictObject({
  id: z.int(),
  kind: z.string(),
  channel,
  recipient: z.string().describe('An address, or the origin of a webhook'),
  state: z.enum(states).describe('`waiting`: it was not sent yet, or is sent again'),
  created_at: instant,
  sent_at: instant.nullable(),
  next_at: instant.nullable().describe('The next attempt'),
  attempts: z.int(),
  error: z.string().nullable().describe('Why the last attempt failed'),
});

/**
 * Messages to the owner of an account and its webhook (U12), or to an operator and the webhook of all
 * operators (A14): choose, test, and see what was sent.
 */
export function messagePages(area: Area, parts: SitePageContext) {
  return [...choicePages(area, parts), ...webhookPages(area, parts), ...sentPages(area, parts)];
}

const kindOf = (area: Area) =>
  z.enum(kindsFor(area === 'dashboard' ? 'owner' : 'operators') as [MessageKind, ...MessageKind[]]);

function choicePages(area: Area, { reads, database, identity, config }: SitePageContext) {
  const path = `/${area}/api/messages` as const;
  const kind = kindOf(area);
  const kinds = z.array(kind).max(kind.options.length);
  const known = (chosen: readonly string[]) => kind.options.filter((one) => chosen.includes(one));
  return [
    pageRoute({
      method: 'GET',
      path,
      summary: 'Which messages are sent where',
      response: z.strictObject({
        kinds,
        email: z.strictObject({
          is_offered: z.boolean().describe('Whether a mail server is configured'),
          address: z.string().nullable().describe('Of the owner, or what the operator stated'),
          is_verified: z.boolean().describe('An owner with an unverified address gets no e-mail'),
          kinds,
          language,
        }),
        webhook: z.strictObject({ url: z.string(), kinds, language }).nullable(),
      }),
      handle: async ({ session }) => {
        const owner = session.kind === 'owner' ? await identity.owners.ofAccount(session.accountId) : null;
        const mail = (await readChoices(reads, personOf(session))).find((one) => one.channel === 'email');
        const hook = (await readChoices(reads, groupOf(session))).find((one) => one.channel === 'webhook');
        const all = session.kind === 'owner' ? kind.options : [];
        const url = hook?.address ?? '';
        const isShown = session.kind === 'owner' || includesRole(session.role, 'admin');
        return {
          kinds: kind.options,
          email: {
            is_offered: config().mail !== null,
            address: owner?.email ?? mail?.address ?? null,
            is_verified: owner?.emailVerified ?? mail !== undefined,
            kinds: known(mail?.kinds ?? all),
            language: owner?.preferences.language ?? mail?.language ?? 'ko',
          },
          webhook: hook
            ? { url: isShown ? url : originOf(url), kinds: known(hook.kinds), language: hook.language }
            : null,
        };
      },
    }),
    pageRoute({
      method: 'PUT',
      path: `${path}/email`,
      credential: 'person',
      summary: 'Choose the e-mails to this person; no kind: none',
      body: z.object({
        address: emailText.optional().describe('Of an operator; an owner has the address of its profile'),
        language: language.optional(),
        kinds,
      }),
      response: z.strictObject({ kinds }),
      handle: async ({ session, body }) => {
        const address = session.kind === 'owner' ? null : (parseEmail(body.address ?? '')?.text ?? null);
        if (session.kind === 'operator' && address === null)
          throw new PageRefusal('invalid_email', pageMessages.invalidEmail);
        const choice = {
          channel: 'email',
          kinds: body.kinds,
          language: body.language ?? 'ko',
          address,
        } as const;
        await setChoice(database, personOf(session), choice, null);
        return { kinds: body.kinds };
      },
    }),
  ];
}

function webhookPages(area: Area, { database, identity, config }: SitePageContext) {
  const path = `/${area}/api/messages/webhook` as const;
  const kind = kindOf(area);
  const kinds = z.array(kind).max(kind.options.length);
  const role = area === 'console' ? ({ role: 'admin' } as const) : {};
  const audit = async (session: PageSession, after: object | null): Promise<void> => {
    if (session.kind === 'operator')
      await identity.recordAct(actorOf(session), { act: 'webhook.change', after });
  };
  return [
    pageRoute({
      method: 'PUT',
      path,
      credential: 'person',
      ...role,
      summary: 'Set the webhook; another URL gets another signing secret, which is sent once',
      body: z.object({ url: z.string().max(2_000), kinds, language }),
      response: z.strictObject({
        secret: z.string().nullable().describe('Null: the URL, and so the secret, stayed'),
        ...sentOnceShape,
      }),
      sentOnce: { members: ['secret'], message: pageMessages.webhookSecretOnce },
      handle: async ({ session, body }) => {
        const url = webhookUrlOf(body.url.trim(), config().webhooks.privateNetworks);
        if (url === null) throw new PageRefusal('conflict', pageMessages.invalidWebhook);
        const secret = newWebhookSecret();
        const choice = { ...body, channel: 'webhook', address: url } as const;
        const isNew = await setChoice(database, groupOf(session), choice, secret);
        await audit(session, { origin: originOf(url), kinds: body.kinds });
        return { secret: isNew ? secret : null, message: null };
      },
    }),
    pageRoute({
      method: 'DELETE',
      path,
      credential: 'person',
      ...role,
      summary: 'Remove the webhook; what waits to be sent to it is given up',
      response: z.strictObject({ deleted: z.boolean() }),
      handle: async ({ session }) => {
        await deleteChoice(database, groupOf(session), 'webhook');
        await audit(session, null);
        return { deleted: true };
      },
    }),
  ];
}

function sentPages(area: Area, { reads, database, clock, config }: SitePageContext) {
  const path = `/${area}/api/messages` as const;
  return [
    pageRoute({
      method: 'POST',
      path: `${path}/test`,
      credential: 'person',
      summary: 'Send a test message, once; the log shows how that ended',
      body: z.object({ channel }),
      response: z.strictObject({ made: z.boolean() }),
      handle: async ({ session, body: { channel } }) => {
        if (channel === 'email' && config().mail === null)
          throw new PageRefusal('conflict', pageMessages.noMail);
        const subject = channel === 'email' ? personOf(session) : groupOf(session);
        const test = { key: `test:${randomUUID()}`, subject, channel, maxPerMinute: maxTestsPerMinute };
        const made = await database.transaction((sql) => insertTest(sql, test, clock.now()));
        if (made === 'too_many') throw new PageRefusal('conflict', pageMessages.tooManyTests);
        if (made === 'no_target') throw new PageRefusal('conflict', pageMessages.noMessageTarget);
        return { made: true };
      },
    }),
    pageRoute({
      method: 'GET',
      path: `${path}/log`,
      summary: 'What was sent, newest first',
      query: z.object({ cursor: integerText(1).optional() }),
      response: pageOf(messageShape),
      handle: async ({ session, query: { cursor = null } }) => {
        const accountId = session.kind === 'owner' ? session.accountId : null;
        const found = await listMessages(reads, { accountId, beforeId: cursor, limit: pageSize + 1 });
        const { rows, next } = pageOfRows(found, pageSize, ({ id }) => id);
        return { items: rows.map(shown), next };
      },
    }),
  ];
}

/** Whose e-mails a session chooses. */
function personOf(session: PageSession): MessageSubject {
  return session.kind === 'owner' ? `account ${session.accountId}` : `operator ${session.operatorId}`;
}

/** Whose webhook a session chooses. */
function groupOf(session: PageSession): MessageSubject {
  return session.kind === 'owner' ? `account ${session.accountId}` : 'operators';
}

/** What of a webhook is shown to those who do not set it: its path is often a secret. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

function shown(message: LoggedMessage): z.input<typeof messageShape> {
  const { id, kind, channel, recipient, createdAtMs, sentAtMs, nextAtMs, attempts, error } = message;
  return {
    id,
    kind,
    channel,
    recipient: channel === 'webhook' ? originOf(recipient) : recipient,
    state: sentAtMs !== null ? 'sent' : nextAtMs === null ? 'failed' : 'waiting',
    created_at: isoOf(createdAtMs),
    sent_at: isoOrNull(sentAtMs),
    next_at: isoOrNull(nextAtMs),
    attempts,
    error,
  };
}
