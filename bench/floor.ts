/**
 * What any proxy on this runtime costs: `node:http` in front, `undici` behind, bytes passed on. The
 * yardstick of `guard.ts`.
 *
 *   node bench/floor.ts UPSTREAM_PORT      prints `listening on http://127.0.0.1:PORT`
 */
import { createServer } from 'node:http';
import { Pool } from 'undici';

const upstream = new Pool(`http://127.0.0.1:${process.argv[2]}`, { connections: 4096 });

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    upstream.dispatch(
      {
        path: request.url ?? '/',
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: Buffer.concat(parts),
      },
      {
        onRequestStart() {},
        onResponseStart: (_controller, status, headers) =>
          void response.writeHead(status, { 'content-type': String(headers['content-type']) }),
        onResponseData: (_controller, bytes) => void response.write(bytes),
        onResponseEnd: () => void response.end(),
        onResponseError: () => void response.destroy(),
      },
    );
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  process.stdout.write(`listening on http://127.0.0.1:${address.port}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
