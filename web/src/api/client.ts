import type { PageApi } from '../../../src/pages/page-api.ts';
import type { Language } from '../format/money.ts';
import { reportConnection, reportSessionEnded } from './connection.ts';
import { ApiError, errorOf } from './errors.ts';

/** `GET /dashboard/api/keys`: a row of the page API. */
export type RouteName = keyof PageApi;
type NameOf<Method extends string> = Extract<RouteName, `${Method} ${string}`>;
/** Reads. */
export type ReadName = NameOf<'GET'>;
/** Changes: everything that is not a read. */
export type ChangeName = Exclude<RouteName, ReadName>;

/** What a row responds. */
export type ResponseOf<Name extends RouteName> = PageApi[Name]['response'];
/** The JSON body of a row. */
export type BodyOf<Name extends RouteName> = PageApi[Name]['body'];

type Given<Key extends string, Value> = [Value] extends [undefined]
  ? { readonly [K in Key]?: undefined }
  : Record<never, never> extends Value
    ? { readonly [K in Key]?: Value }
    : { readonly [K in Key]: Value };

/** The arguments of a row: its path parameters, query and body. */
export type CallOf<Name extends RouteName> = Given<'params', PageApi[Name]['params']> &
  Given<'query', PageApi[Name]['query']> &
  Given<'body', PageApi[Name]['body']> & { readonly signal?: AbortSignal };

interface LooseCall {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

const maxTries = 4;
const firstPauseMs = 400;

/** Reads a row. Throws `ApiError`; the query client retries. */
export function read<Name extends ReadName>(name: Name, call: CallOf<Name>): Promise<ResponseOf<Name>> {
  return send(name, call, {}) as Promise<ResponseOf<Name>>;
}

/**
 * Makes a change. A lost response is asked for again under the same idempotency key, so the change
 * happens once whatever the network does. `changeKey` is for a form that lets a person try again.
 */
export async function change<Name extends ChangeName>(
  name: Name,
  call: CallOf<Name>,
  changeKey: string = newChangeKey(),
): Promise<ResponseOf<Name>> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await send(name, call, { 'Idempotency-Key': changeKey })) as ResponseOf<Name>;
    } catch (error) {
      const mayRetry = error instanceof ApiError && (error.status === 0 || error.status === 503);
      if (!mayRetry || attempt === maxTries) throw error;
      await pause(firstPauseMs * 2 ** (attempt - 1), call.signal);
    }
  }
}

/**
 * A response with a secret as its first answer has it. The answer to a repeated request has none, and
 * says why: that becomes an `ApiError`.
 */
export function assertFirstAnswer(response: {
  readonly message: Readonly<Record<Language, string>> | null;
}): void {
  if (response.message !== null)
    throw new ApiError({ status: 409, type: 'sent_once', words: response.message });
}

/** A new idempotency key: a random UUID. Also where `crypto.randomUUID` needs TLS. */
export function newChangeKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** The address of a row: for links to files and for server-sent events. */
export function urlOf<Name extends ReadName>(name: Name, call: CallOf<Name>): string {
  return addressOf(name, call as LooseCall);
}

/**
 * Why the server refuses to begin a file or a stream at `url`, which is then not read; null when it
 * would begin. Never throws; a server that is away is of type `unreachable`.
 */
export async function refusalOf(url: string, signal?: AbortSignal): Promise<ApiError | null> {
  const reading = new AbortController();
  const sentMs = performance.now();
  try {
    const signals = signal === undefined ? [reading.signal] : [reading.signal, signal];
    const response = await reach(url, { signal: AbortSignal.any(signals), credentials: 'same-origin' });
    return response.ok ? null : await refused(response, sentMs);
  } catch (error) {
    return error instanceof ApiError ? error : null;
  } finally {
    reading.abort();
  }
}

/** The failure of a response that is not OK; that the session has ended is reported. */
async function refused(response: Response, sentMs: number): Promise<ApiError> {
  const error = await errorOf(response);
  if (error.type === 'session_required') reportSessionEnded(sentMs);
  return error;
}

async function send(name: string, given: object, headers: Record<string, string>): Promise<unknown> {
  const call = given as LooseCall;
  const [method = 'GET'] = name.split(' ', 1);
  const sentMs = performance.now();
  const response = await reach(addressOf(name, call), {
    method,
    headers: {
      Accept: 'application/json',
      ...(call.body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    ...(call.signal === undefined ? {} : { signal: call.signal }),
    credentials: 'same-origin',
  });
  // Without a session, `/api/session` fails as expected; a read of a page does not.
  if (!response.ok)
    throw await (name.endsWith('/api/session') ? errorOf(response) : refused(response, sentMs));
  return response.status === 204 ? undefined : response.json();
}

/** `fetch`, with a lost connection as `ApiError`. An abort stays what it is. */
async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, init);
    reportConnection({ isAway: false });
    return response;
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    reportConnection({ isAway: true });
    throw new ApiError({ status: 0, type: 'unreachable' });
  }
}

function addressOf(name: string, { params = {}, query = {} }: LooseCall): string {
  const path = name
    .slice(name.indexOf(' ') + 1)
    .replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(params[key] ?? ''));
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue;
    for (const one of Array.isArray(value) ? value : [value]) search.append(key, String(one));
  }
  const written = search.toString();
  return written === '' ? path : `${path}?${written}`;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}
