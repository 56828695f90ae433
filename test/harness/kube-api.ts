import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import {
  createServer as createHttp,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

/** How an API server mishandles one call. */
export type Fault =
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  /** Executes it, and responds when this holds. */
  | { readonly after: Promise<unknown> }
  | 'hang'
  | 'drop'
  /** Executes it, and closes the connection without a response. */
  | 'lose';

/** One call that the API server got. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

/** A small Kubernetes API with one Deployment, on TLS, and the Service in front of its pods. */
export interface KubeApi {
  readonly url: string;
  /** The certificate that it is known by. */
  readonly ca: string;
  readonly serviceUrl: string;
  readonly calls: readonly Call[];
  /** What the pods' service got. */
  readonly probes: readonly IncomingMessage[];
  /** The tokens that are let in. */
  tokens: string[];
  /** The requested scale; null: there is no such Deployment. */
  wanted: number | null;
  /** The existing pods: the requested ones, unless the test delays them. */
  running: number;
  lags: boolean;
  /** Whether the pods pass their health probe. */
  healthy: boolean;
  /** For the next calls, in order; null: none for this one. */
  readonly faults: (Fault | null)[];
  /** For every call, as long as it is set. */
  fault: Fault | null;
}

export const kubePath = '/apis/apps/v1/namespaces/gpu/deployments/vllm/scale';

/** Starts both on loopback ports, closed after the test. `dir` gets the certificate. */
export async function startKubeApi(t: TestContext, dir: string): Promise<KubeApi> {
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=kube', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, ...names], {
    stdio: 'ignore',
  });
  const calls: Call[] = [];
  const probes: IncomingMessage[] = [];
  const api: KubeApi = {
    url: '',
    ca: readFileSync(cert, 'utf8'),
    serviceUrl: '',
    calls,
    probes,
    tokens: ['sesame'],
    wanted: 0,
    running: 0,
    lags: false,
    healthy: true,
    faults: [],
    fault: null,
  };
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const { method = '', url: path = '' } = request;
    const { authorization, 'content-type': type } = request.headers;
    const call = { method, path, authorization, type, body };
    calls.push(call);
    const scripted = api.faults.shift();
    const fault = scripted === undefined ? api.fault : scripted;
    if (fault === 'hang') return;
    if (fault === 'drop') return void request.socket.destroy();
    if (fault === 'lose') responseOf(api, call);
    if (fault === 'lose') return void request.socket.destroy();
    if (fault !== null && 'after' in fault) await fault.after;
    else if (fault !== null) {
      response
        .writeHead(fault.status, fault.headers)
        .end(fault.body ?? statusBody(fault.status, 'as scripted'));
      return;
    }
    const [status, reply] = responseOf(api, call);
    response.writeHead(status, { 'content-type': 'application/json' }).end(reply);
  };
  const server = createHttps({ key: readFileSync(key), cert: api.ca }, (request, response) => {
    void take(request, response).catch(() => request.socket.destroy());
  });
  const service = createHttp((request, response) => {
    probes.push(request);
    if (api.running === 0) request.socket.destroy();
    else response.writeHead(request.url === '/up' && api.healthy ? 200 : 503).end();
  });
  return Object.assign(api, {
    url: `https://127.0.0.1:${await portOf(t, server)}`,
    serviceUrl: `http://127.0.0.1:${await portOf(t, service)}`,
  });
}

function responseOf(
  api: KubeApi,
  { method, path, authorization, type, body }: Call,
): readonly [number, string] {
  if (!api.tokens.some((token) => authorization === `Bearer ${token}`))
    return [401, statusBody(401, 'Unauthorized')];
  if (path !== kubePath || api.wanted === null)
    return [404, statusBody(404, 'deployments.apps "vllm" not found')];
  if (method === 'PATCH') {
    if (type !== 'application/merge-patch+json')
      return [415, statusBody(415, 'the body of the request was in an unknown format')];
    const patch: unknown = JSON.parse(body);
    const replicas = (patch as { spec?: { replicas?: unknown } }).spec?.replicas;
    if (typeof replicas !== 'number') return [422, statusBody(422, 'spec.replicas')];
    api.wanted = replicas;
  } else if (method !== 'GET') return [405, statusBody(405, method)];
  if (!api.lags) api.running = api.wanted;
  // As Kubernetes writes it: a zero in the spec is left out.
  const spec = api.wanted === 0 ? {} : { replicas: api.wanted };
  const metadata = { name: 'vllm', namespace: 'gpu' };
  const scale = {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata,
    spec,
    status: { replicas: api.running },
  };
  return [200, JSON.stringify(scale)];
}

function statusBody(code: number, message: string): string {
  return JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code });
}

async function portOf(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}
