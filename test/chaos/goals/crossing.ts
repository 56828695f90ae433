import { Agent } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startTestGateway } from '../../harness/gateway.ts';
import { until } from '../../harness/until.ts';
import { reply, startUpstream, usage } from '../../harness/upstream.ts';
import { auditHistory, readLedger } from '../audit.ts';
import { type OrderedRequest, request, type Sight } from '../client.ts';
import { between, type Random, randomFrom } from '../orders.ts';
import { faultsOf, type GoalRun, type Outcome, outcome } from './goal.ts';
import { pause } from './stage.ts';

const lanes = 64;

/** The requested response of a request: its own token, this many times. */
interface CrossingRequest {
  readonly order: OrderedRequest;
  readonly token: string;
  readonly wordCount: number;
}

/**
 * Many requests, a third of them abandoned at random instants: no client receives part of another's
 * response, and nothing leaks.
 */
export async function crossing({ seed, quick }: GoalRun): Promise<readonly Outcome[]> {
  const count = quick ? 1_000 : 10_000;
  const upstream = await startUpstream();
  upstream.respond(({ body }) => {
    const [message] = body['messages'] as readonly { readonly content: string }[];
    const [token = '', text = '1', waitMs = '0'] = String(message?.content).split(' ');
    const pieces = Array.from({ length: Number(text) }, () => [
      `${token} `,
      { waitMs: Number(waitMs) },
    ]).flat();
    const counted = { usage: usage(9, Number(text)) };
    return body['stream'] === true
      ? reply.stream(pieces, counted)
      : reply
          .chat(
            pieces.filter((piece) => typeof piece === 'string'),
            counted,
          )
          .waitAt(0, Number(waitMs));
  });
  const naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  const agent = new Agent({ keepAlive: true });
  try {
    const account = await naru.account({ credit: '100000000' });
    const management = await account.another({ kind: 'management' });
    const random = randomFrom(seed);
    const faults: string[] = [];
    const sights: Sight[] = [];
    const send = async (from: number, to: number): Promise<void> => {
      let next = from;
      const lane = async (): Promise<void> => {
        while (next < to) {
          const expected = draw(random, next, account);
          next += 1;
          const received = { text: '' };
          const sight = await request(naru.url, expected.order, agent, (text) => {
            received.text = text;
          });
          sights.push(sight);
          faults.push(...judge(expected, sight, received.text));
        }
      };
      await Promise.all(Array.from({ length: lanes }, lane));
      await until('all are ended', () => naru.gateway.server.inFlight() === 0, 20_000);
      await naru.settled();
    };
    // The first tenth warms up: code is compiled, pools are filled.
    await send(0, count / 10);
    const before = await measure();
    await send(count / 10, count);
    // The agent of the upstreams keeps its connections for a while.
    const after = await measure();
    const left = sights.filter((sight) => sight.leftByItself).length;
    const grown = Math.round((after.heap - before.heap) / 1024 / 1024);
    // The fakes keep their requests: not a leak of the gateway, and about 2 KiB a request.
    if (grown > 24 + (count * 4) / 1024) faults.push(`the heap grew by ${grown} MiB`);
    if (after.timers > before.timers + 40) faults.push(`${after.timers} timers, ${before.timers} before`);
    if (after.sockets > before.sockets + 40)
      faults.push(`${after.sockets} sockets, ${before.sockets} before`);
    faults.push(...faultsOf(auditHistory(sights, await readLedger(naru.operator))));
    faults.push(...(await heldStill(naru, account, management.key)));
    const found = `${sights.length} requests, ${left} left by their clients, ${sights.filter((sight) => sight.kind === 'success').length} completed; heap ${grown >= 0 ? '+' : ''}${grown} MiB, timers ${before.timers} → ${after.timers}, sockets ${before.sockets} → ${after.sockets}`;
    const wanted = '30 % cancelled, no crossing, no leak, every bill exact';
    return [outcome(`${count} requests`, wanted, found, faults)];
  } finally {
    agent.destroy();
    await naru.close();
    await upstream.close();
  }
}

function draw(
  random: Random,
  n: number,
  { accountId, key }: { readonly accountId: number; readonly key: string },
): CrossingRequest {
  const token = `token${n}x${between(random, 1_000, 9_999)}`;
  const wordCount = between(random, 1, 20);
  const waitMs = between(random, 0, 4);
  const order: OrderedRequest = {
    tag: `crossing-${n}`,
    accountId,
    key,
    path: '/chat/completions',
    body: {
      model: 'test/echo',
      stream: random() < 0.7,
      messages: [{ role: 'user', content: `${token} ${wordCount} ${waitMs}` }],
    },
    leaveAfterMs: random() < 0.32 ? between(random, 0, 60) : null,
  };
  return { order, token, wordCount };
}

/**
 * Every received token is the requested one, and the charge is that of this response: 9 won and 2 a
 * word.
 */
function judge({ order, token, wordCount }: CrossingRequest, sight: Sight, text: string): readonly string[] {
  const matches = text.match(/token\d+x\d+/g) ?? [];
  const foreign = matches.filter((one) => one !== token);
  if (foreign.length > 0) return [`${order.tag} received ${foreign[0]}`];
  if (sight.kind === 'unseen') return sight.leftByItself ? [] : [`${order.tag}: cut off`];
  if (sight.kind !== 'success') return [`${order.tag}: ${sight.status} ${sight.errorType}`];
  if (matches.length !== wordCount) return [`${order.tag} received ${matches.length} of ${wordCount} words`];
  const wanted = BigInt(9 + 2 * wordCount) * 1_000_000n;
  return sight.costMicro === wanted ? [] : [`${order.tag} costs ${sight.costMicro}, not ${wanted}`];
}

interface Measured {
  readonly heap: number;
  readonly timers: number;
  readonly sockets: number;
}

async function measure(): Promise<Measured> {
  await pause(1_000);
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  const kinds = process.getActiveResourcesInfo();
  const of = (kind: string): number => kinds.filter((one) => one.startsWith(kind)).length;
  return { heap: process.memoryUsage().heapUsed, timers: of('Timeout'), sockets: of('TCP') };
}

/**
 * The key may spend one more won: a leaked reservation would exceed that, and reject the request.
 */
async function heldStill(
  naru: Awaited<ReturnType<typeof startTestGateway>>,
  account: { readonly key: string; readonly hash: string },
  management: string,
): Promise<readonly string[]> {
  const { json } = await naru.send('GET', '/key', { key: account.key });
  const limit = Math.ceil(json.data.usage) + 1;
  const patched = await naru.send('PATCH', `/keys/${account.hash}`, { key: management, body: { limit } });
  if (patched.status !== 200) return [`the limit cannot be set: ${patched.status} ${patched.text}`];
  const body = { model: 'test/echo', messages: [{ role: 'user', content: 'token1x1 1 0' }] };
  const last = await naru.send('POST', '/chat/completions', { key: account.key, body });
  return last.status === 200 ? [] : [`a reservation was left: ${last.status} ${last.text.slice(0, 200)}`];
}
