/**
 * A client's view and charge follow from the sequence of an upstream's events, never from the reads
 * in which their bytes arrive (docs/decisions/stream-completion.md).
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Act, type FaultySite, startSite } from '../chaos/faults/wire.ts';
import { between, randomFrom } from '../chaos/orders.ts';
import { type EventStream, eventStreams, groupings } from '../harness/event-streams.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { ledgerOf } from '../harness/read-ledger.ts';
import { eventsOf } from '../harness/stream.ts';
import { byTier, sample } from '../harness/tier.ts';
import { wires } from '../harness/wire-world.ts';

/** Longer streams are split into as many groupings, chosen by a seed. */
const maxGroupings = byTier(2, 32);
/** Splits of the bytes at any position, also inside of events. */
const byteDivisions = byTier(1, 8);

describe('the result of a stream does not depend on how its bytes are split', () => {
  let naru: TestGateway;
  let site: FaultySite;
  let act: Act = () => {};
  before(async () => {
    site = await startSite((wire) => act(wire));
    const origin = `http://127.0.0.1:${site.port}`;
    const providers = [
      { slug: 'openai', name: 'openai', dialect: 'openai', base_url: `${origin}/v1`, api_key: 'k' },
      ...wires.map((wire) => ({ slug: wire.dialect, name: wire.dialect, ...wire.provider(origin) })),
    ];
    naru = await startTestGateway({
      config: {
        limits: { stream_idle_timeout_ms: 20_000 },
        providers: providers as object,
        models: providers.map(({ slug }) => ({
          id: `test/${slug}`,
          name: slug,
          context_length: 32_768,
          max_completion_tokens: 32_768,
          price: { prompt: 1, completion: 2, currency: 'KRW', per: 'token', confirm: true },
          candidates: [{ provider: slug, model: wires.find((wire) => wire.dialect === slug)?.model ?? 'm' }],
        })) as object,
      },
    });
  });
  after(async () => {
    await naru.close();
    await site.close();
  });

  /** The result of a request: everything but the names and instants that differ between any two. */
  async function resultOf(
    account: TestAccount,
    row: EventStream,
    stream: boolean,
    writes: readonly Buffer[],
  ) {
    naru.gateway.health.keepOnly(new Set());
    act = async (wire) => {
      for (const bytes of writes) await wire.send(bytes);
      if (row.end === 'fin') wire.fin();
      if (row.end === 'rst') wire.rst();
    };
    const { status, text } = await naru.send('POST', '/chat/completions', {
      key: account.key,
      body: {
        model: `test/${row.dialect}`,
        messages: [{ role: 'user', content: 'hi' }],
        stream,
        ...row.request,
      },
    });
    const plain = text.replaceAll(/"(id|created)":("[^"]*"|\d+)/g, '"$1":0');
    return { status, seen: stream && status === 200 ? eventsOf(plain).map(({ data }) => data) : plain };
  }

  for (const row of sample(eventStreams, 9)) {
    for (const stream of row.dialect === 'openai' ? [true, false] : [true]) {
      test(`${row.dialect}, ${stream ? 'streamed' : 'whole'}: ${row.name}`, async () => {
        const account = await naru.account({ credit: '1000000' });
        const one = await resultOf(account, row, stream, [row.head, ...row.events]);
        for (const writes of divisionsOf(row))
          assert.deepEqual(
            await resultOf(account, row, stream, writes),
            one,
            `in writes of ${writes.map(({ length }) => length).join(', ')} bytes`,
          );
        const { records } = await ledgerOf(naru, account);
        const paid = records.map(({ cost_krw, tokens_prompt, tokens_completion, ...record }) => ({
          cost: cost_krw,
          tokens: [tokens_prompt, tokens_completion],
          end: [record.status, record.error_type, record.finish_reason, record.usage_source],
          attempts: record.provider_responses.map((each: { status: number | null }) => each.status),
        }));
        for (const each of paid) assert.deepEqual(each, paid[0]);
      });
    }
  }
});

/**
 * The bytes of a stream in other writes: its events in every grouping, or many of them, and divided
 * anywhere.
 */
function divisionsOf({ head, events }: EventStream): readonly (readonly Buffer[])[] {
  const random = randomFrom(events.length * 7919);
  const all = [...groupings(events.length)];
  const chosen =
    all.length <= maxGroupings
      ? all
      : [[], ...Array.from({ length: maxGroupings }, () => all[between(random, 0, all.length - 1)] ?? [])];
  const offsets = events.map((_, at) => Buffer.concat(events.slice(0, at)).length);
  const body = Buffer.concat(events);
  const anywhere = Array.from({ length: byteDivisions }, () =>
    Array.from({ length: between(random, 1, 8) }, () => between(random, 1, body.length - 1)),
  );
  return [
    ...chosen.map((cuts) => [
      head,
      ...divided(
        body,
        cuts.map((cut) => offsets[cut] ?? 0),
      ),
    ]),
    ...anywhere.map((cuts) => [head, ...divided(body, cuts)]),
    [Buffer.concat([head, body])],
  ];
}

function divided(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const ends = [...new Set([...cuts, bytes.length])].sort((x, y) => x - y);
  return ends.map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end));
}
