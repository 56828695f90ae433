import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyHash } from '../../src/accounts/api-key.ts';
import type { Key } from '../../src/accounts/key.ts';
import { refuse } from '../../src/errors/catalogue.ts';
import { messages } from '../../src/errors/messages.ts';
import { Refusals } from '../../src/inference/refusals.ts';
import type { Timer } from '../../src/time/clock.ts';
import { requestIdAt } from '../../src/wire/ids/request-id.ts';
import { TestClock } from '../harness/test-clock.ts';

/** Its timers fire when the test says so. */
class CalledClock extends TestClock {
  readonly due = new Set<() => void>();

  override after(_delayMs: number, task: () => void): Timer {
    this.due.add(task);
    return { cancel: () => void this.due.delete(task) };
  }
}

// spec:errors/11.1
for (const isBeingRead of [false, true])
  test(`a stop writes the record of a key that ${isBeingRead ? 'is being' : 'was not'} read`, async () => {
    const clock = new CalledClock();
    const key = Promise.withResolvers<Key>();
    const written: number[] = [];
    const refusals = new Refusals({
      clock,
      isAway: () => false,
      keys: { load: () => key.promise },
      settlements: {
        backlog: 0,
        open: (record) => ({ record, tickets: [], place: null }),
        settle: async (_opened, { keyId }) => void written.push(keyId),
      },
    });
    refusals.note({
      hash: 'a'.repeat(64) as KeyHash,
      key: null,
      exchange: { requestId: requestIdAt(clock.now()), header: () => null },
      endpoint: 'chat',
      refusal: refuse('database_away', messages.databaseAway(), { retry_after_sec: 1 }),
    });
    if (isBeingRead) for (const task of clock.due) task();
    const closing = refusals.close();
    key.resolve({ row: { id: 7, accountId: 1, kind: 'inference', revokedAtMs: null } } as Key);
    await closing;
    assert.deepEqual(written, [7]);
  });
