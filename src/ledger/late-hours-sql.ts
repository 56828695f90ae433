import { int8ArrayOfNumbers, timestampArray } from '../store/binary-arrays.ts';
import type { Statement } from '../store/pipeline.ts';

const hourMs = 3_600_000;

/** What is needed of a settlement. */
interface Settled {
  readonly accountId: number;
  readonly settledAtMs: number;
}

/**
 * Marks the hours of rows that are written after their hour has ended, so that they are rolled up
 * again; null when there are none, as in nearly every batch. Run within the settlement's
 * transaction.
 */
export function markLateHours(rows: readonly Settled[], nowMs: number): Statement | null {
  const thisHour = hourOf(nowMs);
  const hoursOf = new Map<string, Settled>();
  for (const { accountId, settledAtMs } of rows) {
    const hour = hourOf(settledAtMs);
    if (hour < thisHour) hoursOf.set(`${accountId}/${hour}`, { accountId, settledAtMs: hour });
  }
  if (hoursOf.size === 0) return null;
  const late = [...hoursOf.values()];
  return {
    name: 'settle-late-hours',
    text: 'INSERT INTO stale_hour (account_id, hour) SELECT * FROM unnest($1::bigint[], $2::timestamptz[])',
    values: [
      int8ArrayOfNumbers(late.map(({ accountId }) => accountId)),
      timestampArray(late.map(({ settledAtMs }) => settledAtMs)),
    ],
  };
}

function hourOf(epochMs: number): number {
  return Math.floor(epochMs / hourMs) * hourMs;
}
