import { readFile } from 'node:fs/promises';
import type { KubeTarget } from '../../config/config.ts';
import { HttpError } from '../../http/client/http-error.ts';
import { type HttpResponse, request } from '../../http/client/request.ts';
import { retryAfterOf } from '../../http/client/retry-after.ts';
import type { Clock } from '../../time/clock.ts';

/** The desired and the current number of pods of a Deployment. */
export interface Scale {
  readonly target: number;
  readonly running: number;
}

/** The result of a call to the API server. */
export type ScaleResult =
  | { readonly ok: true; readonly scale: Scale }
  | {
      readonly ok: false;
      /** For a person; never contains the token. */
      readonly reason: string;
      /** Whether the same call may succeed soon. */
      readonly again: boolean;
      /** Whether the server reported that nothing was changed. */
      readonly refused: boolean;
      /** The Deployment does not exist. */
      readonly missing: boolean;
      /** The server's `Retry-After`. */
      readonly afterMs: number | null;
    };

/** A call without a response for this long is aborted and retried. */
const callMs = 5000;
const maxResponseBytes = 1024 * 1024;
/** The longest `Retry-After` that is accepted from a server. */
const maxRetryAfterMs = 30_000;

/**
 * The scale subresource of one Deployment (autoscaling/v1). The token goes to `apiUrl` only:
 * redirects are not followed, and it is read from its file for each call, because the kubelet
 * renews it. Never rejects.
 */
export class KubeScale {
  readonly #target: KubeTarget;
  readonly #clock: Clock;
  readonly #what: string;

  constructor(target: KubeTarget, clock: Clock) {
    this.#target = target;
    this.#clock = clock;
    this.#what = `deployment ${target.namespace}/${target.deployment}`;
  }

  read(): Promise<ScaleResult> {
    return this.#call('GET', null);
  }

  set(replicas: number): Promise<ScaleResult> {
    return this.#call('PATCH', JSON.stringify({ spec: { replicas } }));
  }

  async #call(method: 'GET' | 'PATCH', body: string | null): Promise<ScaleResult> {
    const { token, tokenFile, ca, caFile } = this.#target;
    let secret = '';
    try {
      secret = token?.reveal() ?? (tokenFile === null ? '' : (await readFile(tokenFile, 'utf8')).trim());
      const trusted = ca ?? (caFile === null ? undefined : await readFile(caFile, 'utf8'));
      if (!/^[\x21-\x7e]*$/.test(secret))
        return failed('the token contains characters that are invalid in a header', { refused: true });
      const response = await this.#send(method, body, secret, trusted);
      return this.#read(response, await objectIn(response), secret);
    } catch (thrown) {
      const { code, path } = thrown as { readonly code?: string; readonly path?: string };
      const isFile = path !== undefined && (path === tokenFile || path === caFile);
      const message = sanitizeMessage(thrown instanceof Error ? thrown.message : String(thrown), secret);
      const reason = isFile
        ? `${path} cannot be read (${code}): is this a pod with a service account?`
        : `the Kubernetes API at ${this.#target.apiUrl} is unreachable: ${message}`;
      return failed(reason, { again: true, refused: isFile });
    }
  }

  #send(
    method: 'GET' | 'PATCH',
    body: string | null,
    token: string,
    ca: string | undefined,
  ): Promise<HttpResponse> {
    const { apiUrl, namespace, deployment } = this.#target;
    const url = `${apiUrl}/apis/apps/v1/namespaces/${namespace}/deployments/${deployment}/scale`;
    return request(url, {
      clock: this.#clock,
      direct: true,
      timeoutMs: callMs,
      maxBytes: maxResponseBytes,
      method,
      headers: {
        Accept: 'application/json',
        ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === null ? {} : { 'Content-Type': 'application/merge-patch+json' }),
      },
      ...(body === null ? {} : { body }),
      ...(ca === undefined ? {} : { ca }),
    });
  }

  #read({ status, headers }: HttpResponse, body: Json | null, secret: string): ScaleResult {
    if (status === 200 || status === 201) {
      const scale = scaleOf(body);
      return scale === null
        ? failed(`the Kubernetes API returned ${status} with a body that is not a Scale`, { again: true })
        : { ok: true, scale };
    }
    const message =
      typeof body?.['message'] === 'string' ? `: ${sanitizeMessage(body['message'], secret)}` : '';
    const refused = status >= 300 && status < 500;
    const requestedMs = retryAfterOf(headers, this.#clock.now());
    const afterMs = requestedMs === null ? null : Math.min(requestedMs, maxRetryAfterMs);
    switch (status) {
      case 401:
        // The token may just have been renewed.
        return failed(`the Kubernetes API rejects the token (401)${message}`, { again: true, refused });
      case 403:
        return failed(`the service account may not scale ${this.#what} (403)${message}`, { refused });
      case 404:
        return failed(`there is no ${this.#what} (404)${message}`, { refused, missing: true });
      case 409:
        return failed(`${this.#what} was changed concurrently (409)${message}`, {
          again: true,
          refused,
        });
      case 429:
        return failed(`the Kubernetes API limits the request rate (429)${message}`, {
          again: true,
          refused,
          afterMs,
        });
      default:
        return failed(`the Kubernetes API returned ${status} for ${this.#what}${message}`, {
          again: status >= 500,
          refused,
          afterMs,
        });
    }
  }
}

function failed(reason: string, more: Partial<ScaleResult & { readonly ok: false }>): ScaleResult {
  return { again: false, refused: false, missing: false, afterMs: null, ...more, ok: false, reason };
}

type Json = Readonly<Record<string, unknown>>;

/** The JSON object of a response; null when its body is something else. */
async function objectIn(response: HttpResponse): Promise<Json | null> {
  try {
    const value = await response.json();
    return typeof value === 'object' && value !== null ? (value as Json) : null;
  } catch (thrown) {
    if (thrown instanceof HttpError && (thrown.kind === 'not_json' || thrown.kind === 'not_text'))
      return null;
    throw thrown;
  }
}

/** Parses the response. Kubernetes omits a count of zero from its JSON. */
function scaleOf(response: Json | null): Scale | null {
  if (response?.['kind'] !== 'Scale') return null;
  const { spec, status } = response as {
    spec?: { replicas?: unknown } | null;
    status?: { replicas?: unknown } | null;
  };
  const target = spec?.replicas ?? 0;
  const running = status?.replicas ?? 0;
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  return isCount(target) && isCount(running) ? { target, running } : null;
}

/** A server's message as part of a reason: one line, at most 200 characters, without the secret. */
function sanitizeMessage(message: string, secret: string): string {
  const open = secret === '' ? message : message.replaceAll(secret, '***');
  return open
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, 200);
}
