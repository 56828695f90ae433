import { chmodSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { describeError, type Log } from '../log/log.ts';
import { placesToTry, prepareFolder, rememberPlace, removePlace } from './socket-path.ts';

/** What the operator's command is told: a status of HTTP and a JSON value. */
export interface ControlAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** What a control server is made of. */
export interface ControlOptions {
  readonly dataDir: string;
  /** Folders for a socket that cannot be in the data directory, best first. */
  readonly roots: readonly string[];
  /** Answers one request; `path` has its segments decoded. Whoever hangs up takes nothing back. */
  readonly answer: (
    method: string,
    path: readonly string[],
    query: URLSearchParams,
  ) => Promise<ControlAnswer>;
  readonly log: Log;
}

/** A control server that listens. */
export interface ControlServer {
  readonly path: string;
  /** Cuts what is open and removes the socket. */
  close(): Promise<void>;
}

/**
 * Serves the operator's commands on a unix socket that only the owner of the data directory (and root) reaches; there is no other
 * credential (docs/decisions/control-socket.md). The caller holds the data directory, so a socket that is there is a dead one's. Null,
 * and a line in the log, when no place takes a socket: that is no reason not to serve.
 */
export async function serveControl(options: ControlOptions): Promise<ControlServer | null> {
  const { dataDir, roots, log } = options;
  const server = createServer(listener(options));
  let fault: unknown = null;
  try {
    prepareFolder(dataDir);
    for (const path of placesToTry(dataDir, roots)) {
      try {
        await listenAt(server, path);
        rememberPlace(dataDir, path);
        // A connection that cannot be accepted is no reason to stop.
        server.on('error', (thrown) => log.error('control.accept_failed', { error: describeError(thrown) }));
        return { path, close: () => closeServer(server, () => removePlace(dataDir, path)) };
      } catch (thrown) {
        fault = thrown;
        removePlace(dataDir, path);
      }
    }
  } catch (thrown) {
    fault = thrown;
  }
  server.close();
  log.error('control.unavailable', { data_dir: dataDir, error: describeError(fault) });
  return null;
}

function listener({ answer, log }: ControlOptions): RequestListener {
  return (request, response) => {
    request.resume();
    response.on('error', () => {});
    const url = URL.parse(request.url ?? '/', 'http://control');
    const pathname = url?.pathname ?? '';
    const answered = async (): Promise<ControlAnswer> =>
      url === null
        ? { status: 400, body: { error: 'that is no path' } }
        : answer(request.method ?? '', pathname.split('/').slice(1).map(decoded), url.searchParams);
    answered()
      .catch((thrown): ControlAnswer => {
        log.error('control.failed', { path: pathname, error: describeError(thrown) });
        return { status: 500, body: { error: 'the server could not do that; its log says why' } };
      })
      .then(({ status, body }) => {
        response.writeHead(status, { 'Content-Type': 'application/json' });
        response.end(`${JSON.stringify(body)}\n`);
      })
      .catch((thrown) => log.error('control.failed', { path: pathname, error: describeError(thrown) }));
  };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function listenAt(server: Server, path: string): Promise<void> {
  rmSync(path, { force: true });
  return new Promise((resolve, reject) => {
    const failed = (error: Error): void => {
      server.off('listening', listening);
      reject(error);
    };
    const listening = (): void => {
      server.off('error', failed);
      // Until here the folder alone kept others out.
      chmodSync(path, 0o600);
      resolve();
    };
    server.once('error', failed).once('listening', listening).listen(path);
  });
}

function closeServer(server: Server, then: () => void): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      then();
      resolve();
    });
    server.closeAllConnections();
  });
}
