import { Server } from 'node:net';
import type { Clock } from '../time/clock.ts';
import { plugAcceptQueue } from './accept-queue.ts';

/** An idle turn of the event loop takes about 0.02 ms. */
const quietTurnMs = 0.2;
/** Stops waiting after this many turns, even if clients keep connecting. */
const maxTurns = 2_000;

/**
 * Closes the listening socket when no connection waits for its accept. Resolves then; `onClosed` runs
 * when the last connection has ended too. Closing the socket resets connections that are not accepted
 * yet, and a proxy may already have sent a request on one. A turn of the event loop accepts one
 * connection at most, so it closes after a turn that accepted none, and where possible with a plug
 * in the queue (`accept-queue.ts`). Others accept what waits at a socket that is shared.
 */
export async function stopListening(
  server: Server,
  clock: Clock,
  { onClosed, isShared }: { readonly onClosed: () => void; readonly isShared: boolean },
): Promise<void> {
  // The HTTP server's own `close` would cut idle connections.
  const close = (one: Server): Server => Server.prototype.close.call(one);
  // The first call compiles it: on a busy machine long enough for another process to take the core.
  close(new Server());
  server.once('close', onClosed);
  await quietTurn(server, clock);
  const unplug = isShared ? null : await plugAcceptQueue(server, clock);
  // Without a plug the time between the last accept and the close can only be made short.
  if (unplug === null) await quietTurn(server, clock);
  close(server);
  unplug?.();
}

/** Resolves in a turn that has accepted no connection, or after many. */
async function quietTurn(server: Server, clock: Clock): Promise<void> {
  let accepted = 0;
  const count = (): void => {
    accepted += 1;
  };
  server.on('connection', count);
  // The first turn ends without a look at the sockets when this was called from one of their
  // events.
  await new Promise(setImmediate);
  for (let turns = 0; turns < maxTurns; turns += 1) {
    const beganMs = clock.monotonic();
    const before = accepted;
    await new Promise(setImmediate);
    if (accepted === before && clock.monotonic() - beganMs < quietTurnMs) break;
  }
  server.off('connection', count);
}
