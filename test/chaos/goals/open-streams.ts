import { until } from '../../harness/until.ts';
import { readLedger } from '../audit.ts';
import { type GoalRun, type Outcome, outcome } from './goal.ts';
import { startHelper } from './helper.ts';
import { openConversation } from './raw-stream.ts';
import { pause, rssBytes, startStage } from './stage.ts';

const maxBytes = 350_000_000;

/**
 * Concurrent streams with little traffic, as while a model reasons: their memory cost, and that all
 * complete.
 */
export async function openStreams({ quick }: GoalRun): Promise<readonly Outcome[]> {
  const wanted = quick ? 500 : 5_000;
  const upstream = await startHelper('test/chaos/goals/upstream-child.ts');
  const url = `http://127.0.0.1:${upstream.first}/drip/v1`;
  const stage = await startStage({ database: 'embedded', beside: { 'test/drip': url } });
  try {
    const { naru, payers } = stage;
    const key = payers[0]?.keys[0]?.key ?? '';
    const before = rssBytes(naru.pid);
    const streams: ReturnType<typeof openConversation>[] = [];
    const request = { key, model: 'test/drip', stream: true, read: true };
    while (streams.length < wanted) {
      for (let n = 0; n < 50; n += 1) streams.push(openConversation(naru.port, request));
      await pause(20);
    }
    const active = (): number => streams.filter(({ received }) => received().includes('river')).length;
    const faults: string[] = [];
    await until('all streams have content', () => active() === wanted, 60_000).catch(() => {
      const silent = streams.find(({ received }) => !received().includes('river'));
      faults.push(`${active()} streams have content; one without: ${silent?.received().slice(0, 300)}`);
    });
    let most = 0;
    for (let n = 0; n < 60; n += 1) {
      most = Math.max(most, rssBytes(naru.pid));
      await pause(200);
    }
    upstream.send('end');
    const ended = (): number => streams.filter(({ received }) => received().includes('data: [DONE]')).length;
    await until('all end', () => ended() === wanted, 60_000).catch(() =>
      faults.push(`${ended()} streams completed`),
    );
    for (const { close } of streams) close();
    let entries = 0;
    await until(
      'all are settled',
      async () => {
        const ledger = await readLedger(stage.operator);
        entries = ledger.entries.filter((entry) => entry.kind === 'usage').length;
        return entries === wanted && ledger.verdict.ok;
      },
      30_000,
    ).catch(() => faults.push(`${entries} entries`));
    if (most > maxBytes) faults.push(`${most} bytes resident`);
    const found = `${megabytes(most)} MB resident at most (${megabytes(before)} before), ${ended()} completed, ${entries} entries`;
    return [
      outcome(
        `${wanted} open streams`,
        `≤ ${megabytes(maxBytes)} MB (millions of bytes) resident, all complete and billed`,
        found,
        faults,
      ),
    ];
  } finally {
    await stage.end();
    await upstream.end();
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
