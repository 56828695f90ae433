/**
 * What a request leaves in the old generation of V8, where only a full collection frees it: 50 ms in
 * which the threads of V8 take the processor from the event loop (docs/decisions/old-generation.md).
 * Measured in the program as an operator runs it, with its flags.
 */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LoadResult } from '../../bench/load-run.ts';
import { naruTarget } from '../../bench/target-naru.ts';
import { startHelper } from '../chaos/goals/helper.ts';

/** It is some 280, and 1,500 and more when a request, its body or its call is kept. */
const maxOldBytes = 600;
/** Buffers: it is nothing but what is collected late, and 2,300 when a settlement's values are kept. */
const maxExternalBytes = 1_000;
const perSecond = 1_000;
const secondsOfRound = 3;
const maxRounds = 10;
/** V8 keeps fewer objects on the heap once the path is optimized. */
const warmUpSeconds = 5;

test('a request leaves nothing in the old generation', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'naru-old-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  // The embedded database may run as another user and must get through.
  chmodSync(directory, 0o711);
  const upstream = await startHelper('test/harness/fast-upstream.ts');
  t.after(() => upstream.end());
  const generator = await startHelper('bench/load.ts');
  t.after(() => generator.end());
  const upstreamPort = Number(/:(\d+)$/.exec(upstream.first)?.[1]);
  const naru = await naruTarget({ upstreamPort, directory });
  t.after(() => naru.stop());
  const run = async (rate: number | null, seconds: number): Promise<number> => {
    const job = { ...naru.jobOf('whole'), connections: 8, seconds, perSecond: rate, chunks: null };
    const response = generator.next();
    generator.send(JSON.stringify(job));
    const result = JSON.parse(await response) as LoadResult;
    assert.equal(result.failures, 0, `${result.firstFailure}`);
    return result.responses;
  };
  await run(null, warmUpSeconds);
  const left: string[] = [];
  let isMet = false;
  for (let round = 0; round < maxRounds && !isMet; round += 1) {
    const before = await heapOf(naru.adminPort);
    const responses = await run(perSecond, secondsOfRound);
    const after = await heapOf(naru.adminPort);
    // A full collection frees what earlier rounds left as well.
    if (after.fullCollections > before.fullCollections) continue;
    const old = Math.round((after.oldBytes - before.oldBytes) / responses);
    const external = Math.round((after.externalBytes - before.externalBytes) / responses);
    left.push(`${old} and ${external}`);
    isMet = old <= maxOldBytes && external <= maxExternalBytes;
  }
  t.diagnostic(`bytes of objects and of buffers that a request left: ${left.join('; ')}`);
  assert.ok(isMet, left.join('; '));
});

interface Heap {
  readonly oldBytes: number;
  readonly externalBytes: number;
  readonly fullCollections: number;
}

async function heapOf(adminPort: number): Promise<Heap> {
  const page = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  const value = (series: RegExp): number => Number(series.exec(page)?.[1] ?? Number.NaN);
  const heap = {
    oldBytes: value(/^nodejs_heap_space_size_used_bytes\{space="old"\S*\} (\S+)$/m),
    externalBytes: value(/^nodejs_external_memory_bytes\S* (\S+)$/m),
    // Absent until there was one.
    fullCollections: value(/^nodejs_gc_duration_seconds_count\{kind="major"\S*\} (\S+)$/m) || 0,
  };
  assert.ok(heap.oldBytes > 0 && heap.externalBytes > 0, 'the metrics lack the memory of V8');
  return heap;
}
