import { once } from 'node:events';
import { connect } from 'node:net';

/** Resolves when a process listens on a port of 127.0.0.1; rejects after `limitMs`. */
export async function untilConnectable(port: number, limitMs: number): Promise<void> {
  for (const until = performance.now() + limitMs; performance.now() < until; ) {
    const socket = connect(port, '127.0.0.1');
    const connected = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (connected) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`nothing listens on port ${port}`);
}
