/**
 * What a request allocates in the main thread. Unlike its processor time it is nearly the same on
 * every machine and beside any load, so that a path that grows is noticed; collecting what was
 * allocated is a large part of a request's cost (docs/performance.md).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import type { LoadJob, LoadResult } from '../../bench/load-run.ts';
import { startHelper } from '../chaos/goals/helper.ts';
import { startTestGateway } from '../harness/gateway.ts';

/** Content chunks a stream. */
const chunks = 50;
/**
 * V8 keeps fewer objects on the heap once the path is optimized, which takes a busy machine longer.
 * So rounds are repeated until one is within the limit.
 */
const warmUpResponses = 5_000;
const maxRounds = 40;
const responsesOfRound = 500;

/** The most bytes of a request: 15 % above what it needed when this was last changed. */
const workloads = {
  whole: { maxBytes: 90_000, stream: false },
  batched: { maxBytes: 195_000, stream: true },
};

async function allocated(
  work: () => Promise<void>,
): Promise<{ readonly bytes: number; readonly ms: number }> {
  const [beforeBytes, beforeMs] = [getHeapStatistics().total_allocated_bytes, performance.now()];
  await work();
  return {
    bytes: getHeapStatistics().total_allocated_bytes - beforeBytes,
    ms: performance.now() - beforeMs,
  };
}

test('a request allocates no more than it did', async (t) => {
  const upstream = await startHelper('test/harness/fast-upstream.ts', '--chunks', String(chunks));
  t.after(() => upstream.end());
  const generator = await startHelper('bench/load.ts');
  t.after(() => generator.end());
  const origin = upstream.first.replace('listening on ', '');
  const names = Object.keys(workloads) as (keyof typeof workloads)[];
  const gateway = await startTestGateway({
    models: names.map((name) => ({ id: `bench/${name}`, upstreams: [`${origin}/${name}`] })),
  });
  t.after(() => gateway.close());
  const { key } = await gateway.account({ credit: '100000000' });
  const run = async (name: keyof typeof workloads, seconds: number): Promise<number> => {
    const { stream } = workloads[name];
    const body = { model: `bench/${name}`, messages: [{ role: 'user', content: 'hello' }], stream };
    const job: LoadJob = {
      port: Number(new URL(gateway.origin).port),
      path: '/api/v1/chat/completions',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
      connections: 8,
      seconds,
      perSecond: null,
      chunks: stream ? chunks : null,
    };
    const response = generator.next();
    generator.send(JSON.stringify(job));
    const result = JSON.parse(await response) as LoadResult;
    assert.equal(result.failures, 0, `${result.firstFailure}`);
    return result.responses;
  };
  for (const name of names) {
    for (let responses = 0; responses < warmUpResponses; ) responses += await run(name, 1);
    const bytes: number[] = [];
    const { maxBytes } = workloads[name];
    while (bytes.length < maxRounds && !bytes.some((each) => each <= maxBytes)) {
      const idle = await allocated(() => sleep(1_000));
      let responses = 0;
      const busy = await allocated(async () => {
        while (responses < responsesOfRound) responses += await run(name, 0.3);
      });
      // What is allocated without a request grows with the time that a busy machine takes.
      bytes.push((busy.bytes - (idle.bytes * busy.ms) / idle.ms) / responses);
    }
    t.diagnostic(`${name}: ${bytes.map((each) => Math.round(each)).join(', ')} bytes a request`);
    const least = Math.round(Math.min(...bytes));
    assert.ok(least <= maxBytes, `${name}: ${least} bytes`);
  }
});
