import { bytesOf, Connection } from './connection.ts';
import type { Operation } from './document.ts';
import { readDocument } from './document.ts';
import { type Drawn, draw, type Learnt } from './draw.ts';
import { type Judged, judge } from './judge.ts';
import type { World } from './world.ts';

/** A request whose response broke a rule, minimised as far as it still breaks it. */
export interface Finding {
  readonly n: number;
  readonly why: string;
  readonly request: string;
}

/** What a run of fuzzed requests saw. */
export interface Campaign {
  readonly seed: number;
  readonly operations: readonly Operation[];
  /** Responses as `GET /keys 200`, errors with their type. */
  readonly counts: ReadonlyMap<string, number>;
  readonly responded: number;
  readonly generations: ReadonlyMap<string, bigint | null>;
  readonly requestIds: number;
  readonly finding: Finding | null;
  readonly ms: number;
}

export interface CampaignOptions {
  readonly seed: number;
  /** The first number of the seed, and how many. */
  readonly from?: number;
  readonly requests: number;
  readonly lines?: number;
  /** The maximum duration of a response. */
  readonly limitMs?: number;
  /** The server to use instead of the gateway. */
  readonly port?: number;
}

/** How many smaller requests are tried to explain a finding. */
const shrinkTries = 300;

/** Sends the given number of requests, several concurrently, until the first finding. */
export async function runCampaign(world: World, options: CampaignOptions): Promise<Campaign> {
  const { seed, requests, lines = 12, limitMs = 20_000, from = 1 } = options;
  const { port = world.naru.gateway.server.port } = options;
  const operations = readDocument((await world.naru.send('GET', '/openapi.json')).text);
  const learnt: Learnt = { generationIds: [] };
  const counts = new Map<string, number>();
  const generations = new Map<string, bigint | null>();
  const requestIds = new Set<string>();
  const startedMs = performance.now();
  let finding: Finding | null = null;
  let next = from;
  let responded = 0;

  const note = ({ operation, status, errorType, generation }: Judged): void => {
    const name = `${operation?.name ?? '-'} ${status}${errorType === null ? '' : ` ${errorType}`}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (generation === null) return;
    generations.set(generation.id, generation.costMicro);
    // Few are remembered, so that what a number draws depends little on the others.
    if (learnt.generationIds.length < 20) learnt.generationIds.push(generation.id);
  };
  const send = async (line: Connection, drawn: Drawn): Promise<Judged> => {
    const { unreadable } = drawn;
    const response = await line.exchange(bytesOf(drawn, world), {
      bodiless: drawn.method === 'HEAD',
      unreadable,
    });
    const [id] = response?.all('x-service-request-id') ?? [];
    if (id !== undefined && requestIds.has(id)) throw new Error(`${id} named two requests`);
    if (id !== undefined) requestIds.add(id);
    try {
      return judge(drawn, response, operations);
    } catch (error) {
      throw new Error(`${logLinesOf(error)}${failedAttempts(world, id)}`, { cause: error });
    }
  };
  const worker = async (): Promise<void> => {
    const line = new Connection(port, limitMs);
    while (next < from + requests && finding === null) {
      const drawn = draw(seed, next++, operations, world, learnt);
      try {
        note(await send(line, drawn));
        responded += 1;
      } catch (error) {
        finding ??= await explain(
          drawn,
          error,
          (smaller) => send(new Connection(port, limitMs), smaller),
          world,
        );
      }
    }
    line.close();
  };
  await Promise.all(Array.from({ length: lines }, worker));
  const ms = performance.now() - startedMs;
  return { seed, operations, counts, responded, generations, requestIds: requestIds.size, finding, ms };
}

/** The log's lines about the attempts of a failed request; empty when none failed. */
function failedAttempts({ naru }: World, requestId: string | undefined): string {
  return naru.logged
    .filter((line) => line['event'] === 'attempt_failed' && line['request_id'] === requestId)
    .map((line) => `\n${JSON.stringify(line)}`)
    .join('');
}

/** Leaves parts out for as long as it still fails. */
async function explain(
  drawn: Drawn,
  error: unknown,
  send: (smaller: Drawn) => Promise<unknown>,
  world: World,
): Promise<Finding> {
  let [smallest, why] = [drawn, logLinesOf(error)];
  let tries = 0;
  for (let shrunk = true; shrunk && tries < shrinkTries; ) {
    shrunk = false;
    for (const smaller of smallerThan(smallest)) {
      tries += 1;
      const failed = await send(smaller).then(() => null, logLinesOf);
      if (failed === null) continue;
      [smallest, why, shrunk] = [smaller, failed, true];
      break;
    }
  }
  return { n: drawn.n, why, request: bytesOf(smallest, world).toString('latin1').slice(0, 4000) };
}

function* smallerThan(drawn: Drawn): Generator<Drawn> {
  const { query, headers, body } = drawn;
  for (const at of query.keys()) yield { ...drawn, query: query.toSpliced(at, 1) };
  for (const at of headers.keys()) yield { ...drawn, headers: headers.toSpliced(at, 1) };
  if (drawn.framing === 'chunked') yield { ...drawn, framing: 'length' };
  if (body === null) return;
  yield { ...drawn, body: null };
  if (!Buffer.isBuffer(body)) {
    for (const name of Object.keys(body)) {
      const { [name]: _, ...rest } = body;
      yield { ...drawn, body: rest };
    }
  } else if (body.length > 1) {
    yield { ...drawn, body: body.subarray(0, body.length >> 1) };
    yield { ...drawn, body: body.subarray(body.length >> 1) };
  }
}

function logLinesOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
