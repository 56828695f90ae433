import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { sessionCookies } from '../../src/pages/page-reply.ts';
import type { Area, PageSession, Role, Sessions } from '../../src/pages/page-session.ts';

/** Sessions that a test opens and ends, in place of the identity room. */
export class TestSessions implements Sessions {
  readonly #sessions = new Map<string, PageSession>();

  async findSession(token: string): Promise<PageSession | null> {
    return this.#sessions.get(token) ?? null;
  }

  async findOperatorToken(): Promise<null> {
    return null;
  }

  async countWrongToken(): Promise<null> {
    return null;
  }

  /** Opens a session of an account's owner; returns its token. */
  owner(accountId: number): string {
    return this.#open((sessionId) => ({
      sessionId,
      kind: 'owner',
      accountId,
      ownerId: 1,
      via: 'password',
      createdAtMs: 0,
    }));
  }

  operator(role: Role): string {
    return this.#open((sessionId) => ({
      sessionId,
      kind: 'operator',
      isToken: false,
      operatorId: 1,
      name: 'operator',
      role,
      createdAtMs: 0,
    }));
  }

  end(token: string): void {
    this.#sessions.delete(token);
  }

  #open(make: (sessionId: string) => PageSession): string {
    const token = randomBytes(32).toString('base64url');
    this.#sessions.set(token, make(token.slice(0, 8)));
    return token;
  }
}

export interface PageResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; fails the test when it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies as a client would.
  readonly json: any;
}

/** A browser at one listener, signed in or not. */
export class PageBrowser {
  readonly #origin: string;
  readonly #area: Area;
  readonly #token: string | null;

  constructor(origin: string, area: Area, token: string | null) {
    this.#origin = origin;
    this.#area = area;
    this.#token = token;
  }

  /** `path` is below `/<area>/api`. Headers of null are left out. */
  async send(
    method: string,
    path: string,
    options: {
      readonly body?: unknown;
      readonly key?: string;
      readonly headers?: Readonly<Record<string, string | null>>;
    } = {},
  ): Promise<PageResponse> {
    const { body, key = randomUUID() } = options;
    const isChanging = method !== 'GET' && method !== 'HEAD';
    const headers: Record<string, string | null> = {
      ...(this.#token === null ? {} : { cookie: `${sessionCookies[this.#area]}=${this.#token}` }),
      ...(isChanging ? { origin: this.#origin, 'idempotency-key': key } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    };
    const response = await fetch(`${this.#origin}/${this.#area}/api${path}`, {
      method,
      headers: Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== null),
      redirect: 'manual',
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      get json() {
        return JSON.parse(text);
      },
    };
  }

  /** The JSON of a successful `GET`. */
  async get(path: string) {
    const response = await this.send('GET', path);
    assert.equal(response.status, 200, `${path}: ${response.text.slice(0, 500)}`);
    return response.json;
  }
}
