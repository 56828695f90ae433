/**
 * A server that discards every body and then responds 200, the minimum for a Node server: the cost
 * of an attack to the host alone. Prints its port, and ends with its standard input.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, response) => {
  request.on('error', () => {}).on('end', () => response.end('{}'));
  request.resume();
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
