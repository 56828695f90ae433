import type { z } from 'zod';
import { refuse } from '../errors/catalogue.ts';
import { messages, requirements } from '../errors/messages.ts';
import { pageMessages } from '../errors/page-messages.ts';
import { PageRefusal } from '../errors/page-refusal.ts';
import { limitedAs } from '../http/client-ip.ts';
import type { Exchange } from '../http/exchange.ts';
import { BodyTooLarge } from '../http/read-body.ts';
import type { RouteTable } from '../http/route-table.ts';
import { parsedValue } from '../wire/json.ts';
import { parseWith } from '../wire/parse-with.ts';
import type { Reply } from '../wire/reply.ts';
import { maxQueryBytes } from '../wire/shapes/query.ts';
import type { IdempotentChanges, StoredReply } from './idempotency.ts';
import { isFromOwnOrigin, type PageClient, pageClientOf } from './page-client.ts';
import { PageReply, sessionTokenOf } from './page-reply.ts';
import { type AnyPageRoute, isChange, type PageCredential } from './page-route.ts';
import { type Area, includesRole, type PageSession, type Sessions } from './page-session.ts';

/** What dispatching a request of the pages needs. */
export interface PageDispatchParts {
  readonly area: Area;
  readonly publicOrigin: string | null;
  readonly table: RouteTable<AnyPageRoute>;
  readonly sessions: Sessions;
  readonly changes: IdempotentChanges;
}

/** The largest body of a page's request. */
export const maxPageBodyBytes = 65_536;

/**
 * Answers one request of the page API. The order of the refusals: path and method, origin, session,
 * role, query, idempotency key, body. Throws them.
 */
export async function dispatchPage(parts: PageDispatchParts, exchange: Exchange): Promise<Reply> {
  exchange.isPrivate = true;
  const found = parts.table.find(exchange.method, exchange.path);
  if (found.kind === 'options') {
    const { method, path } = exchange;
    const { allow } = found;
    throw refuse('method_not_allowed', messages.methodNotAllowed(method, allow), { path, method, allow });
  }
  const { route, params } = found;
  exchange.logFields.route = route.path;
  const isChanging = isChange(exchange.method);
  const client = pageClientOf(exchange, parts.publicOrigin);
  // No browser sends this header for another site: only cookies need the own origin.
  const hasToken = parts.area === 'console' && route.credential !== 'none' && client.bearer !== null;
  if (isChanging && !hasToken && !isFromOwnOrigin(exchange.headers))
    throw new PageRefusal('invalid_origin', pageMessages.invalidOrigin);
  const { signal } = exchange;
  const readSession = () => (route.credential === 'none' ? null : sessionOf(parts, route, client));
  const session = await readSession();
  if (session?.kind === 'owner') exchange.logFields.account_id = session.accountId;
  const query = parsed(route.query, queryOf(exchange.queryText));
  const changeKey = isChanging && session !== null ? changeKeyOf(exchange) : '';
  const given = route.body === undefined ? undefined : await readBody(exchange);
  const body = parsed(route.body, given);
  // The session may have ended while the body arrived.
  if (route.body !== undefined) await readSession();
  if (route.format === 'stream' && exchange.method === 'HEAD')
    return { body: Buffer.alloc(0), contentType: 'text/event-stream; charset=utf-8' };
  const handle = async (): Promise<PageReply> =>
    checked(route, await route.handle({ params, query, body, session, client, signal, changeKey }));
  if (session === null || !isChanging) return replyOf(await handle());
  return parts.changes.once(
    {
      scope: session.kind === 'owner' ? `account ${session.accountId}` : `operator ${session.operatorId}`,
      key: changeKey,
      content: JSON.stringify([exchange.method, exchange.path, exchange.queryText, given ?? null]),
      signal,
    },
    async () => {
      const reply = await handle();
      return { reply: replyOf(reply), stored: storedOf(route, reply) };
    },
  );
}

/**
 * The session of the cookie, or whom the token of the console names. Refuses a request without
 * either, and a role that the row does not accept.
 */
async function sessionOf(
  { area, sessions }: PageDispatchParts,
  { role, credential }: AnyPageRoute,
  client: PageClient,
): Promise<PageSession> {
  const session =
    area === 'console' && client.bearer !== null
      ? await machineOf(sessions, credential, client.bearer, client.ip)
      : await personOf(sessions, sessionTokenOf(area, client));
  if (session === null || session.kind !== (area === 'dashboard' ? 'owner' : 'operator'))
    throw new PageRefusal('session_required', pageMessages.sessionRequired);
  if (session.kind === 'operator' && !includesRole(session.role, role ?? 'viewer'))
    throw new PageRefusal('role_required', pageMessages.roleRequired, {
      extras: { role: role ?? 'viewer' },
    });
  return session;
}

async function personOf(sessions: Sessions, token: string | null): Promise<PageSession | null> {
  return token === null || token.length > 200 ? null : sessions.findSession(token);
}

/**
 * Whom an operator's token names. Refuses a wrong one, which counts, and a row for people only
 * (spec:operator/1.20).
 */
async function machineOf(
  sessions: Sessions,
  credential: PageCredential,
  token: string,
  ip: string,
): Promise<PageSession> {
  const session = token.length > 200 ? null : await sessions.findOperatorToken(token);
  if (session === null) {
    const retryAfterSec = await sessions.countWrongToken(limitedAs(ip));
    if (retryAfterSec === null) throw new PageRefusal('invalid_token', pageMessages.invalidToken);
    throw new PageRefusal('too_many_attempts', pageMessages.tooManyAttempts, { retryAfterSec });
  }
  if (credential === 'person') throw new PageRefusal('person_required', pageMessages.personRequired);
  return session;
}

function changeKeyOf(exchange: Exchange): string {
  const key = exchange.header('idempotency-key') ?? '';
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(key)) return key.toLowerCase();
  throw new PageRefusal('idempotency_key_required', pageMessages.idempotencyKeyRequired);
}

/** A parameter that is stated twice is a list, which no schema of a single value accepts. */
function queryOf(text: string): Readonly<Record<string, string | readonly string[]>> {
  if (text.length > maxQueryBytes) throw refuse('invalid_request', messages.queryTooLong(maxQueryBytes));
  const values = Map.groupBy(new URLSearchParams(text), ([name]) => name);
  return Object.fromEntries(
    [...values].map(([name, stated]) => {
      const all = stated.map(([, value]) => value);
      return [name, all.length === 1 ? (all[0] ?? '') : all];
    }),
  );
}

async function readBody(exchange: Exchange): Promise<unknown> {
  if (Number(exchange.headers['content-length'] ?? 0) > maxPageBodyBytes)
    throw new BodyTooLarge(maxPageBodyBytes);
  return parsedValue((await exchange.json(maxPageBodyBytes)).parsed);
}

/**
 * Refuses a value with a NUL character in a text, which the database does not store; `name` is that
 * of the value.
 */
function assertStorable(name: string, value: unknown): void {
  if (typeof value === 'string' && value.includes('\0'))
    throw refuse('invalid_request', messages.invalidValue(name, requirements.withoutNul));
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value))
    assertStorable(name === '' ? key : `${name}.${key}`, inner);
}

/** A value as its schema parses it. Refuses with `400 invalid_request`. */
function parsed(schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema === undefined) return undefined;
  assertStorable('', value);
  const result = parseWith(schema, value);
  if (result.ok) return result.value;
  throw refuse('invalid_request', result.fault.message);
}

/**
 * The reply of a handler; what is no `PageReply` is a JSON body. The body must be what the row's
 * document says.
 */
function checked(route: AnyPageRoute, result: unknown): PageReply {
  const reply = result instanceof PageReply ? result : new PageReply({ body: result as object });
  if (reply.stream !== null || Buffer.isBuffer(reply.body)) return reply;
  return new PageReply({
    status: reply.status,
    headers: reply.headers,
    cookies: reply.cookies,
    body: route.response.parse(reply.body) as object,
  });
}

function replyOf({ status, body, contentType, headers, cookies, stream }: PageReply): Reply {
  if (stream !== null)
    return {
      headers: { 'Cache-Control': 'no-store', ...headers },
      stream,
      ...(contentType === null ? {} : { contentType }),
    };
  return { status, body, headers, cookies, ...(contentType === null ? {} : { contentType }) };
}

/** What a repeated request gets: the response without its secrets, with the reason. */
function storedOf(route: AnyPageRoute, { status, body, stream }: PageReply): StoredReply {
  if (stream !== null || Buffer.isBuffer(body)) throw new Error(`${route.path}: a change returns JSON`);
  if (route.sentOnce === undefined) return { status, body };
  const { members, message } = route.sentOnce;
  const absent = Object.fromEntries(members.map((member: string) => [member, null]));
  return { status, body: route.response.parse({ ...body, ...absent, message }) as object };
}
