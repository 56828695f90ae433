import { readFile } from 'node:fs/promises';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { KubeTarget } from '../../config/slot.ts';
import type { Clock } from '../../time/clock.ts';
import { parseRetryAfterMs, sanitizeMessage } from './kube-errors.ts';

/** The desired and the current number of pods of a Deployment. */
export interface Scale {
  readonly target: number;
  readonly running: number;
}

/** The result of a call to the API server. */
export type ScaleAnswer =
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

  read(): Promise<ScaleAnswer> {
    return this.#call('GET', null);
  }

  set(replicas: number): Promise<ScaleAnswer> {
    return this.#call('PATCH', JSON.stringify({ spec: { replicas } }));
  }

  async #call(method: 'GET' | 'PATCH', body: string | null): Promise<ScaleAnswer> {
    const { token, tokenFile, ca, caFile } = this.#target;
    let secret = '';
    try {
      secret = token?.reveal() ?? (tokenFile === null ? '' : (await readFile(tokenFile, 'utf8')).trim());
      const trusted = ca ?? (caFile === null ? undefined : await readFile(caFile, 'utf8'));
      if (!/^[\x21-\x7e]*$/.test(secret))
        return failed('the token contains characters that are invalid in a header', { refused: true });
      const { status, retryAfter, text } = await this.#send(method, body, secret, trusted);
      return this.#read(status, retryAfter, text, secret);
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
    method: string,
    body: string | null,
    token: string,
    ca: string | undefined,
  ): Promise<{ status: number; retryAfter: string | undefined; text: string }> {
    const { apiUrl, namespace, deployment } = this.#target;
    const url = `${apiUrl}/apis/apps/v1/namespaces/${namespace}/deployments/${deployment}/scale`;
    const headers = {
      Accept: 'application/json',
      ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === null
        ? {}
        : { 'Content-Type': 'application/merge-patch+json', 'Content-Length': Buffer.byteLength(body) }),
    };
    return new Promise((resolve, reject) => {
      const take = (response: IncomingMessage): void => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        response.on('data', (piece: Buffer) => {
          bytes += piece.length;
          if (bytes > maxResponseBytes) request.destroy(new Error('the response is too long'));
          else pieces.push(piece);
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            retryAfter: response.headers['retry-after'],
            text: Buffer.concat(pieces).toString('utf8'),
          }),
        );
      };
      const options = { method, headers, agent: false as const };
      const request = url.startsWith('https:')
        ? requestHttps(url, { ...options, ...(ca === undefined ? {} : { ca }) }, take)
        : requestHttp(url, options, take);
      const late = this.#clock.after(callMs, () =>
        request.destroy(new Error(`no response within ${callMs} ms`)),
      );
      request.on('error', reject);
      request.on('close', () => {
        late.cancel();
        reject(new Error('the connection was closed'));
      });
      request.end(body ?? undefined);
    });
  }

  #read(status: number, retryAfter: string | undefined, text: string, secret: string): ScaleAnswer {
    const response = parsed(text);
    if (status === 200 || status === 201) {
      const scale = scaleOf(response);
      return scale === null
        ? failed(`the Kubernetes API returned ${status} with a body that is not a Scale`, { again: true })
        : { ok: true, scale };
    }
    const message =
      typeof response?.['message'] === 'string' ? `: ${sanitizeMessage(response['message'], secret)}` : '';
    const refused = status >= 300 && status < 500;
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
          afterMs: parseRetryAfterMs(retryAfter),
        });
      default:
        return failed(`the Kubernetes API returned ${status} for ${this.#what}${message}`, {
          again: status >= 500,
          refused,
          afterMs: parseRetryAfterMs(retryAfter),
        });
    }
  }
}

function failed(reason: string, more: Partial<ScaleAnswer & { readonly ok: false }>): ScaleAnswer {
  return { again: false, refused: false, missing: false, afterMs: null, ...more, ok: false, reason };
}

function parsed(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Parses the response. Kubernetes omits a count of zero from its JSON. */
function scaleOf(response: Readonly<Record<string, unknown>> | null): Scale | null {
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
