import type { SlotReading } from '../../pages/dashboard/slot-reading.ts';
import { type Clock, within } from '../../time/clock.ts';
import type { ParentChannel } from './messages.ts';

/** How long a page waits for the parent, which responds within milliseconds when it is well. */
const responseTimeoutMs = 500;
/** Pages that read within this time share a reading. */
const sharedMs = 250;

/**
 * Reads the states of the slots, which the parent has. At most one request is under way: a parent
 * that does not respond gets no further ones, and its last reading is returned as stale.
 */
export function remoteSlotStates(
  channel: Pick<ParentChannel, 'request'>,
  clock: Clock,
): () => Promise<SlotReading | null> {
  let last: SlotReading | null = null;
  let readMs = Number.NEGATIVE_INFINITY;
  let pending: Promise<void> | null = null;
  const read = async (): Promise<void> => {
    try {
      const statuses = await channel.request('slots.statuses');
      last = { statuses, asOfMs: clock.now(), isStale: false };
      readMs = clock.monotonic();
    } finally {
      pending = null;
    }
  };
  return async () => {
    if (clock.monotonic() - readMs < sharedMs) return last;
    pending ??= read();
    const done = pending.then(
      () => true,
      () => false,
    );
    if (await within(clock, responseTimeoutMs, done, false)) return last;
    return last === null ? null : { ...last, isStale: true };
  };
}
