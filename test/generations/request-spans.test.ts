/** Which hours a page of the list of all requests looks at. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, boolean, integer, property, record } from 'fast-check';
import { spansOfRequests } from '../../src/generations/analytics/request-spans.ts';
import { check } from '../harness/property.ts';

const hourMs = 3_600_000;
const maxScanned = 100;

/** Requests of one hour, by the hour in which they were settled. */
const hour = record({ requests: integer({ min: 0, max: 80 }), matches: boolean() });

test('pages look at every hour that may have a match once, the newest first, and at few others', () => {
  check(
    property(
      array(hour, { maxLength: 40 }),
      integer({ min: 0, max: 40 }),
      integer({ min: 1, max: 20 }),
      (all, rolled, wanted) => {
        const hours = all.map(({ requests, matches }, index) => ({
          startMs: index * hourMs,
          requests,
          matching: matches ? requests : 0,
        }));
        const known = { hours: hours.slice(0, rolled), rolledUntilMs: rolled * hourMs };
        const looked: { fromMs: number; toMs: number }[] = [];
        let toMs: number | null = all.length * hourMs;
        for (let pages = 0; toMs !== null; pages += 1) {
          assert.ok(pages <= 40 * maxScanned, 'the pages end');
          const page = spansOfRequests(known, { fromMs: 0, toMs, wanted, maxScanned });
          looked.push(...page.spans);
          assert.ok(page.nextMs === null || page.nextMs < toMs, 'each page goes on');
          toMs = page.nextMs;
        }
        for (const [index, span] of looked.entries())
          assert.ok(index === 0 || span.toMs <= (looked[index - 1]?.fromMs ?? 0), 'no instant twice');
        for (const { startMs } of hours) {
          const of = (at: number) => known.hours.find((one) => one.startMs === at)?.matching ?? 0;
          const isKnown = startMs + 2 * hourMs <= known.rolledUntilMs;
          const mayMatch = !isKnown || of(startMs) + of(startMs + hourMs) > 0;
          const covered = looked.reduce(
            (sum, span) =>
              sum + Math.max(0, Math.min(span.toMs, startMs + hourMs) - Math.max(span.fromMs, startMs)),
            0,
          );
          assert.equal(covered, mayMatch ? hourMs : 0);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('an hour with more requests than a page may read is read in parts', () => {
  const known = {
    hours: [{ startMs: 0, requests: 1_000, matching: 1_000 }],
    rolledUntilMs: 2 * hourMs,
  };
  const page = spansOfRequests(known, { fromMs: 0, toMs: hourMs, wanted: 10, maxScanned });
  assert.deepEqual(page, { spans: [{ fromMs: 0.9 * hourMs, toMs: hourMs }], nextMs: 0.9 * hourMs });
});
