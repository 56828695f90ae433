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

/** A port of 127.0.0.1 that was free a moment ago. */
export function pickFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
      server.close(() => resolve(port));
    });
  });
}
