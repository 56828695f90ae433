import type { StreamSink } from '../wire/reply.ts';
import type { PageClient } from './page-client.ts';
import type { Area } from './page-session.ts';

/** A response with more than a JSON body of status 200. */
export class PageReply {
  readonly status: number;
  /** JSON, checked against the row; or bytes with their type. */
  readonly body: object | Buffer;
  readonly contentType: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Values of `Set-Cookie`. */
  readonly cookies: readonly string[];
  /** Writes server-sent events, or text of `contentType`; null: `body` is all. */
  readonly stream: ((sink: StreamSink) => Promise<void>) | null;

  constructor(parts: {
    readonly status?: number;
    readonly body?: object | Buffer;
    readonly contentType?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly cookies?: readonly string[];
    readonly stream?: (sink: StreamSink) => Promise<void>;
  }) {
    this.status = parts.status ?? 200;
    this.body = parts.body ?? {};
    this.contentType = parts.contentType ?? null;
    this.headers = parts.headers ?? {};
    this.cookies = parts.cookies ?? [];
    this.stream = parts.stream ?? null;
  }
}

/** Sends the browser to another page of our own. */
export function redirectTo(path: string, cookies: readonly string[] = []): PageReply {
  return new PageReply({
    status: 302,
    body: Buffer.alloc(0),
    contentType: 'text/plain; charset=utf-8',
    headers: { Location: path },
    cookies,
  });
}

/** What a cookie needs of the browser that gets it. */
type CookieClient = Pick<PageClient, 'isSecure' | 'isHostBound'>;

/** The name of an area's session cookie, without the prefix of a public name. */
export const sessionCookies: Readonly<Record<Area, string>> = {
  dashboard: 'naru_session',
  console: 'naru_console',
};

/** The session token that a browser sent for an area, or null. */
export function sessionTokenOf(area: Area, client: PageClient): string | null {
  return ownCookie(sessionCookies[area], client);
}

/** The value of a cookie that `cookieLine` set, or null. */
export function ownCookie(name: string, client: PageClient): string | null {
  return client.cookie(`${prefixOf(client)}${name}`);
}

/** Of a cookie's name. A cookie with the prefix is for one name and all its paths. */
function prefixOf({ isHostBound }: Pick<PageClient, 'isHostBound'>): '' | '__Host-' {
  return isHostBound ? '__Host-' : '';
}

/**
 * The `Set-Cookie` value that gives the browser a session, or with `token` null ends it there. A
 * session cookie ends with the browser at the latest; the server decides when it really ends.
 */
export function sessionCookie(area: Area, token: string | null, client: CookieClient): string {
  const kept = { path: `/${area}`, sameSite: 'Strict', maxAgeSec: token === null ? 0 : null } as const;
  return cookieLine(sessionCookies[area], token, kept, client);
}

/**
 * The `Set-Cookie` value of a cookie that no script reads; null ends it. `path` holds but where the
 * cookie is for one name; `maxAgeSec` null: until the browser ends.
 */
export function cookieLine(
  name: string,
  value: string | null,
  kept: {
    readonly path: string;
    readonly sameSite: 'Strict' | 'Lax';
    readonly maxAgeSec: number | null;
  },
  client: CookieClient,
): string {
  return [
    `${prefixOf(client)}${name}=${value ?? ''}`,
    `Path=${client.isHostBound ? '/' : kept.path}`,
    'HttpOnly',
    `SameSite=${kept.sameSite}`,
    ...(client.isSecure ? ['Secure'] : []),
    ...(kept.maxAgeSec === null ? [] : [`Max-Age=${kept.maxAgeSec}`]),
  ].join('; ');
}
