import { exchangeOf } from './client.ts';
import type { SimGateway } from './gateway.ts';
import type { SimProcess } from './process.ts';
import type { Holder, Machine, Simulation } from './simulation.ts';

/** A response is not older than this when it is requested. */
const knownWithinMs = 1_000;

/** The reader and its node. */
interface Reading {
  readonly machine: Machine;
  readonly gateway: SimGateway;
  readonly process: SimProcess;
  readonly holder: Holder;
}

/**
 * A client reads: its account, its key, or the record of a request, which may be another tenant's.
 */
export async function read(simulation: Simulation, reading: Reading): Promise<void> {
  const { random, views } = simulation;
  const records = [...views.values()].filter(({ generation }) => generation !== null);
  switch (random.int(0, records.length === 0 ? 1 : 3)) {
    case 0:
      return readCredits(simulation, reading);
    case 1:
      return readKey(simulation, reading);
    default:
      return readRecord(simulation, reading, random.pick(records).id);
  }
}

async function readCredits(simulation: Simulation, reading: Reading): Promise<void> {
  const { truth, timeline } = simulation;
  const { accountId } = reading.holder;
  const sinceMs = timeline.nowMs - knownWithinMs;
  const data = await get(reading, '/api/v1/credits');
  if (data === null) return;
  const amount = BigInt(Math.round(Number(data['total_credits']) * 1_000_000));
  truth.check(
    truth.hadCredits(accountId, amount, sinceMs),
    () => `account ${accountId} read ${amount} of credits, which it did not have in the last second`,
  );
}

async function readKey(simulation: Simulation, reading: Reading): Promise<void> {
  const data = await get(reading, '/api/v1/key');
  if (data === null) return;
  const label = `key ${reading.holder.number}`;
  simulation.truth.check(data['label'] === label, () => `${label} read ${String(data['label'])}`);
}

async function readRecord(simulation: Simulation, reading: Reading, id: string): Promise<void> {
  const { views: all, truth, journey } = simulation;
  const { holder, machine } = reading;
  const view = all.get(id);
  const known = view?.generation;
  if (view === undefined || known == null) return;
  const wasComplete = view.end === 'complete';
  const data = await get(reading, '/api/v1/generation', `id=${known}`);
  if (view.accountId !== holder.accountId) {
    truth.check(data === null, () => `account ${holder.accountId} read the record of ${id}`);
    journey.met('a tenant requested the record of another and got not found');
    return;
  }
  if (data === null || !wasComplete) return;
  const cost = BigInt(Math.round(Number(data['total_cost']) * 1_000_000));
  truth.check(
    cost === view.cost,
    () => `the response of ${id} has ${view.cost}, and its record at g${machine.number} has ${cost}`,
  );
  truth.check(data['request_id'] === id, () => `the record of ${id} is of ${String(data['request_id'])}`);
  journey.met('a client read the record of its response');
}

/** The gateway's response; null when it rejects, or dies. */
async function get(
  { gateway, process, holder }: Reading,
  path: string,
  queryText = '',
): Promise<Readonly<Record<string, unknown>> | null> {
  const dead = Promise.withResolvers<null>();
  const forget = process.whenDead(() => dead.resolve(null));
  const exchange = exchangeOf(
    { id: 'read', accountId: holder.accountId, process, key: holder.plaintext, body: {} },
    { method: 'GET', path, queryText, departure: new AbortController() },
  );
  try {
    const reply = await Promise.race([gateway.response(exchange), dead.promise]);
    if (reply === null || 'stream' in reply) return null;
    return (reply.body as { readonly data: Readonly<Record<string, unknown>> }).data;
  } catch {
    return null;
  } finally {
    forget();
  }
}
