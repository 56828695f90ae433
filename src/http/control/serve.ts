import { chmodSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { describeError, type Log } from '../../log/log.ts';
import { decodedSegment } from '../../wire/path-segment.ts';
import { candidatePaths, prepareFolder, recordSocketPath, removeSocket } from './socket-path.ts';

/** The response to an operator's command: an HTTP status and a JSON value. */
export interface ControlResponse {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Handles one request; the segments of `path` are decoded. A client that disconnects does not
 * cancel it.
 */
export type ControlHandler = (
  method: string,
  path: readonly string[],
  query: URLSearchParams,
) => Promise<ControlResponse>;

/** The parts of a control server. */
export interface ControlOptions {
  readonly dataDir: string;
  /** Folders for a socket that cannot be in the data directory, best first. */
  readonly roots: readonly string[];
  readonly respond: ControlHandler;
  readonly log: Log;
}

/** A listening control server. */
export interface ControlServer {
  readonly path: string;
  /** Closes open connections and removes the socket. */
  close(): Promise<void>;
}

/**
 * Serves the operator's commands on a unix socket that only the owner of the data directory (and
 * root) can open; there is no other credential (docs/decisions/control-socket.md). The caller holds
 * the lock of the data directory, so an existing socket is stale. Returns null and logs an error
 * when no path accepts a socket: the gateway serves without one.
 */
export async function serveControl(options: ControlOptions): Promise<ControlServer | null> {
  const { dataDir, roots, log } = options;
  const server = createServer(listener(options));
  let fault: unknown = null;
  try {
    prepareFolder(dataDir);
    for (const path of candidatePaths(dataDir, roots)) {
      try {
        await listenAt(server, path);
        recordSocketPath(dataDir, path);
        // The server survives a connection that it cannot accept.
        server.on('error', (thrown) => log.error('control.accept_failed', { error: describeError(thrown) }));
        return { path, close: () => closeServer(server, () => removeSocket(dataDir, path)) };
      } catch (thrown) {
        fault = thrown;
        removeSocket(dataDir, path);
      }
    }
  } catch (thrown) {
    fault = thrown;
  }
  server.close();
  log.error('control.unavailable', { data_dir: dataDir, error: describeError(fault) });
  return null;
}

function listener({ respond, log }: ControlOptions): RequestListener {
  return (request, response) => {
    request.resume();
    response.on('error', () => {});
    const url = URL.parse(request.url ?? '/', 'http://control');
    const pathname = url?.pathname ?? '';
    const respondTo = async (): Promise<ControlResponse> =>
      url === null
        ? { status: 400, body: { error: 'invalid path' } }
        : respond(request.method ?? '', pathname.split('/').slice(1).map(decodedSegment), url.searchParams);
    respondTo()
      .catch((thrown): ControlResponse => {
        log.error('control.failed', { path: pathname, error: describeError(thrown) });
        return { status: 500, body: { error: 'the command failed; see the log of the server' } };
      })
      .then(({ status, body }) => {
        response.writeHead(status, { 'Content-Type': 'application/json' });
        response.end(`${JSON.stringify(body)}\n`);
      })
      .catch((thrown) => log.error('control.failed', { path: pathname, error: describeError(thrown) }));
  };
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
      // Until now only the mode of the folder kept other users out.
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
