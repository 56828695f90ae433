import { hash } from 'node:crypto';
import type { App } from './apps-sql.ts';
import { appOfUserAgent, isKnownApp } from './known-apps.ts';

/**
 * What the headers of a request state about its app: unchecked and of any length; null where a
 * header was not sent.
 */
export interface Origin {
  readonly title: string | null;
  readonly referer: string | null;
  readonly userAgent: string | null;
}

const maxNameLength = 100;
const maxUrlLength = 200;
const maxReadLength = 1_000;
/**
 * Nearly all requests repeat the headers of others: a lookup costs a tenth of the 5 µs that
 * resolving takes.
 */
const cached = new Map<string, App | null>();
const maxCached = 1_000;
const maxCachedLength = 500;
/** Every machine has this name, so it identifies no app. */
const localHost = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\])$/;
const visible = /[\p{L}\p{N}\p{P}\p{S}]/u;
/**
 * Control characters, line separators, and characters that change the direction of the text around
 * them.
 */
const unprintable = /[\p{Cc}\u{2028}\u{2029}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gu;

/**
 * The app of a request (spec:api/17.1): its identity is the address in the referer, else its title,
 * else the program that the User-Agent names; its name is the title, else the name that goes with
 * the identity. Null when no header states a usable one.
 */
export function resolveApp(origin: Origin): App | null {
  const { title, referer, userAgent } = origin;
  const cacheKey = `${title?.length ?? 0} ${referer?.length ?? 0} ${title ?? ''}${referer ?? ''}${userAgent ?? ''}`;
  if (cacheKey.length > maxCachedLength) return resolve(origin);
  const known = cached.get(cacheKey);
  if (known !== undefined) return known;
  const app = resolve(origin);
  if (cached.size >= maxCached) cached.clear();
  cached.set(cacheKey, app);
  return app;
}

function resolve({ title, referer, userAgent }: Origin): App | null {
  const name = appName(title);
  const url = identifying(webAddress(referer));
  if (url !== null) return appOf(url, name ?? shortened(new URL(url).host), url);
  if (name !== null) return appOf(`title ${name}`, name, null);
  const known = appOfUserAgent(userAgent ?? '');
  return known === null ? null : appOf(known.url, known.name, known.url);
}

/**
 * The web address in a referer, of http or https, without user, query and fragment, without empty
 * path segments and the suffix of a repository, so that its spellings are one; of a very long one
 * the origin. Null when there is none.
 */
export function webAddress(referer: string | null): string | null {
  const url = referer === null ? null : URL.parse(referer.slice(0, maxReadLength));
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  const parts = url.pathname.split('/').filter((part) => part !== '');
  const last = parts.pop();
  if (last !== undefined) parts.push(last.replace(/(?<=[^.])(\.git)+$/, ''));
  const address = [url.origin, ...parts].join('/');
  return [address, url.origin].find((text) => text.length <= maxUrlLength) ?? null;
}

function identifying(url: string | null): string | null {
  return url === null || localHost.test(new URL(url).hostname) ? null : url;
}

/** Which header identified an app, by its recorded name and address. */
export function recognitionOf(app: Omit<App, 'id'>): 'referer' | 'title' | 'user_agent' {
  if (app.url === null) return 'title';
  return isKnownApp({ name: app.name, url: app.url }) ? 'user_agent' : 'referer';
}

/**
 * A title as it may be displayed: one line, printable, bounded; null when nothing remains of it.
 */
export function appName(title: string | null): string | null {
  const text = (title ?? '').slice(0, 4 * maxNameLength).toWellFormed();
  const name = shortened(text.replaceAll(unprintable, ' ').replaceAll(/\s+/gu, ' ').trim().normalize());
  return visible.test(name) ? name : null;
}

/** The text, cut before the character that would make it too long. */
function shortened(text: string): string {
  let end = 0;
  for (const character of text) {
    if (end + character.length > maxNameLength) break;
    end += character.length;
  }
  return text.slice(0, end).trimEnd();
}

function appOf(identity: string, name: string, url: string | null): App {
  const id = Number.parseInt(hash('sha256', identity, 'hex').slice(0, 12), 16) || 1;
  return { id, name, url };
}
