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
 * A port of 127.0.0.1 that was free a moment ago. Rejects with the error of the last port tried when
 * none of a hundred is free.
 */
export async function pickFreePort(): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const port = randomInt(firstPort, lastPort + 1);
    try {
      await bindAndClose(port);
      return port;
    } catch (error) {
      if (tries === maxPortTries) throw error;
    }
  }
}

function bindAndClose(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(port, '127.0.0.1', () => server.close(() => resolve()));
  });
}
