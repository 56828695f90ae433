import { until } from '../../harness/until.ts';
import { readLedger } from '../audit.ts';
import { startLoad } from '../load.ts';
import { type GoalRun, type Outcome, outcome } from './goal.ts';
import { startHelper } from './helper.ts';
import { openConversation } from './raw-stream.ts';
import { descriptorsOf, pause, rssMib, settleAndAudit, startStage } from './stage.ts';

const stallMs = 5_000;

/**
 * Clients that request much and read nothing: they cost little, delay no other client, are
 * disconnected, and pay for what was sent.
 */
export async function unread({ seed, quick }: GoalRun): Promise<readonly Outcome[]> {
  const [streams, wholes] = quick ? [95, 5] : [980, 20];
  const upstream = await startHelper('test/chaos/goals/upstream-child.ts');
  const at = (kind: string): string => `http://127.0.0.1:${upstream.first}/${kind}/v1`;
  const stage = await startStage({
    database: 'embedded',
    beside: { 'test/flood': at('flood'), 'test/big': at('big') },
    config: { limits: { stream_idle_timeout_ms: stallMs } },
  });
  try {
    const { naru, payers } = stage;
    const [silent, others] = payers;
    if (silent === undefined || others === undefined) throw new Error('no payers');
    const load = startLoad(naru.url, [others], { clients: 4, seed, name: 'others', mayWait: true });
    await until('others are served', () => load.sights.length > 20, 20_000);
    const before = { rss: rssMib(naru.pid), descriptors: descriptorsOf(naru.pid) };
    const key = silent.keys[0]?.key ?? '';
    const request = { key, stream: true, read: false };
    const mute = [
      ...Array.from({ length: streams }, () =>
        openConversation(naru.port, { ...request, model: 'test/flood' }),
      ),
      ...Array.from({ length: wholes }, () =>
        openConversation(naru.port, { ...request, model: 'test/big', stream: false }),
      ),
    ];
    const total = streams + wholes;
    const faults: string[] = [];
    let most = 0;
    let slowestMs = 0;
    let records = 0;
    let left = 0;
    const beganMs = performance.now();
    const servedAt = load.sights.length;
    await until(
      'they are cut off and recorded',
      async () => {
        most = Math.max(most, rssMib(naru.pid));
        const sentMs = performance.now();
        const seen = load.sights.length;
        await until('others go on', () => load.sights.length > seen, 30_000);
        slowestMs = Math.max(slowestMs, performance.now() - sentMs);
        await pause(100);
        left = descriptorsOf(naru.pid) - before.descriptors;
        if (left > total / 4) return false;
        const { generations } = await readLedger(stage.operator);
        records = generations.filter((record) => record.account_id === silent.accountId).length;
        return records === total && left <= 20;
      },
      400_000,
    ).catch((error) => faults.push(`${error}: ${records} records, ${left} more descriptors than before`));
    const tookMs = performance.now() - beganMs;
    const served = load.sights.length - servedAt;
    await load.stop();
    for (const one of mute) one.close();
    const { entries, generations } = await readLedger(stage.operator);
    const own = generations.filter((record) => record.account_id === silent.accountId);
    const kinds = Map.groupBy(own, (record) => `${record.status} ${record.error_type ?? 'billed'}`);
    const ends = [...kinds]
      .map(([kind, all]) => `${all.length} × ${kind}`)
      .sort()
      .join(', ');
    const unpaid = own.filter((record) => record.error_type === null && Number(record.cost_krw) === 0).length;
    if (unpaid > 0) faults.push(`${unpaid} received content and were not charged`);
    const paid = entries.filter(
      (entry) => entry.account_id === silent.accountId && entry.kind === 'usage',
    ).length;
    const odd = load.sights.filter((sight) => sight.errorType === 'server' || sight.kind === 'unseen');
    if (odd.length > 0) faults.push(`${odd.length} requests of others failed`);
    faults.push(...(await settleAndAudit(stage, load.sights)));
    if (most > 700) faults.push(`${most} MiB resident`);
    if (slowestMs > 5_000) faults.push(`other clients received nothing for ${Math.round(slowestMs)} ms`);
    const found = `${most} MiB (before ${before.rss}), all cut off after ${(tookMs / 1000).toFixed(1)} s, ${paid} entries (${ends}), ${left} descriptors left; others: ${served} responses, longest pause ${Math.round(slowestMs)} ms`;
    const wanted = `≤ 700 MiB, cut off (limit ${stallMs / 1000} s), billed, sockets gone, others unaffected`;
    return [outcome(`${total} clients that do not read`, wanted, found, faults)];
  } finally {
    await stage.end();
    await upstream.end();
  }
}
