import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * The script that `/bin/sh -c` runs before an engine's command. The shell leads the group and
 * becomes the engine by exec, so its pid is the engine's. First it leaves a guard in the group, not
 * a child of the engine, that holds fd 3. When Naru closes its end, deliberately or by exiting, the
 * guard kills the whole group, itself included (design.md, O1 and O2). Signal 0 of `kill` addresses
 * the own group: `kill -- -PGID` is an error in dash.
 */
export const launchScript = `
( sh -c 'trap "" TERM INT HUP QUIT; echo $$ >&3; read -r _ <&3; kill -s KILL 0' naru-guard </dev/null >/dev/null 2>&1 & )
exec 3<&-
if setpriv --pdeathsig KILL true 2>/dev/null; then exec setpriv --pdeathsig KILL "$@"; fi
exec "$@"
`;

/** Replaces `{port}` in a setting with the port of the start. */
export function withPort(text: string, port: number): string {
  return text.replaceAll('{port}', String(port));
}

/**
 * Where the ports of engines are: below the range from which Linux takes ports for outgoing
 * connections and for listeners on port 0 (32,768 and up unless configured). An engine may bind its
 * port only after it has loaded its model, and no connection takes it in that time.
 */
const firstPort = 24_000;
const lastPort = 32_767;
const maxPortTries = 100;

/**
 * Picks ports of 127.0.0.1 that were free a moment ago, from `first` upwards: no port twice, as long
 * as an engine may still load before it listens. Rejects when none of a hundred is free.
 */
export function portPicker(first = randomInt(firstPort, lastPort + 1)): () => Promise<number> {
  let next = first;
  return async () => {
    for (let tries = 1; tries <= maxPortTries; tries += 1) {
      const port = next;
      next = port === lastPort ? firstPort : port + 1;
      if (await isFree(port)) return port;
    }
    throw new Error(`no port for an engine: ${maxPortTries} ports of 127.0.0.1 before ${next} are taken`);
  };
}

/** Whether nothing listens on a port of 127.0.0.1. Rejects when that cannot be found out. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', (error) =>
      'code' in error && error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    );
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
