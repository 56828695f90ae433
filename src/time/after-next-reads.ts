/**
 * Resolves when the event loop has looked at all sockets once more, and their handlers have run. In a
 * loop that was blocked, timers fire before what has arrived meanwhile is read.
 */
export async function afterNextReads(): Promise<void> {
  // An immediate that is set before the look at the sockets runs after it, one of a handler before.
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
