import { startTestGateway, type TestAccount, type TestGateway } from '../../harness/gateway.ts';
import { TestClock } from '../../harness/test-clock.ts';
import { spread } from '../../harness/tier.ts';
import type { Fault, FaultClass } from './fault.ts';
import { delta, done, either, payload, response, sends, stop, streams, used } from './payloads.ts';
import { bodyClasses } from './rows-body.ts';
import { choices } from './rows-choice.ts';
import { connectionClasses } from './rows-connection.ts';
import { cuts } from './rows-cut.ts';
import { encodings } from './rows-encoding.ts';
import { silenceClasses } from './rows-silence.ts';
import { statusClasses } from './rows-status.ts';
import { streamClasses } from './rows-stream.ts';
import { texts } from './rows-text.ts';
import { usages } from './rows-usage.ts';
import { type FaultySite, startSite } from './wire.ts';

/** The limits of the gateway under test, in milliseconds at scale 1. */
export const budgets = { firstByte: 300, idle: 300, total: 900, all: 1000 } as const;

/** The response and the prices of the working upstream. */
export const rescue = { text: '구조되었습니다', prompt: 11, completion: 7 } as const;

/** Won per token in 10^-7 won: odd, so that rounding shows. */
export const priceE7 = { prompt: 3_700_005n, completion: 11_300_007n } as const;

/** A fault with its upstream and its payer. */
export interface WorldState {
  readonly fault: Fault;
  readonly className: string;
  readonly site: FaultySite;
  readonly account: TestAccount;
  readonly models: { readonly one: string; readonly three: string };
}

/**
 * A gateway in front of all the faulty upstreams, one that works, and a trap that must never get a
 * connection.
 */
export interface World {
  readonly naru: TestGateway;
  readonly scale: number;
  readonly standing: readonly WorldState[];
  readonly good: FaultySite;
  readonly trap: FaultySite;
  /** Where timers were set that the path of a call left running. */
  pendingTimers(): readonly string[];
  /** What a provider's key is. */
  secretOf(where: string): string;
  close(): Promise<void>;
}

/** Civil time of a test, and every timer that the path of a call has pending. */
class WatchedClock extends TestClock {
  readonly pending = new Map<object, string>();

  override after(delayMs: number, task: () => void): ReturnType<TestClock['after']> {
    const from = new Error().stack ?? '';
    // The thread that counts long texts ends when it has been idle for a minute: that timer is the
    // thread's, and no request's.
    const isOfCall = from.includes('/src/inference/') && !from.includes('/src/metering/tokenizer-pool.ts');
    if (!isOfCall && !from.includes('/src/upstreams/')) return super.after(delayMs, task);
    const token = {};
    this.pending.set(token, from.split('\n')[2]?.trim() ?? 'somewhere');
    const timer = super.after(delayMs, () => {
      this.pending.delete(token);
      task();
    });
    return {
      cancel: () => {
        this.pending.delete(token);
        timer.cancel();
      },
    };
  }
}

/** No listener can be given it by the kernel, as it could be given the port of one that was closed. */
const refusedPort = 1;
const isRefused = (one: { readonly fault: Fault } | undefined): boolean => one?.fault.on === 'never';

const hex = (n: number): string => n.toString(16).padStart(4, '0');
const secretOf = (where: string): string => `secret-${Buffer.from(where).toString('hex')}-end`;

/**
 * Starts everything. `only` keeps the faults whose class and name contain it, `maxFaults` at most
 * that many of them, spread over all classes.
 */
export async function openWorld(options: {
  readonly scale: number;
  readonly only: string;
  readonly maxFaults?: number;
}): Promise<World> {
  const { scale } = options;
  const trap = await startSite(() => {}, 'accept');
  const good = await startSite(
    either(
      sends(response(JSON.stringify(payload(rescue.text, { usage: rescueUsage() })))),
      streams(delta({ content: rescue.text }), stop, used(rescueUsage()), done),
    ),
  );
  const classes: readonly FaultClass[] = [
    ...connectionClasses,
    ...statusClasses(`http://127.0.0.1:${trap.port}/trap/v1/chat/completions`),
    ...bodyClasses,
    ...silenceClasses,
    cuts,
    ...streamClasses,
    usages,
    encodings,
    texts,
    choices,
  ];
  const all = classes.flatMap(({ name, faults }) =>
    faults
      .map((fault) => ({ className: name, fault }))
      .filter((each) => `${name}: ${each.fault.name}`.includes(options.only)),
  );
  const chosen = spread(all, options.maxFaults ?? all.length);
  const sites = await Promise.all(
    chosen.map(({ fault }) => startSite(fault.act, fault.on === 'never' ? 'request' : fault.on, scale)),
  );
  const clock = new WatchedClock();
  const places = sites.map((_, at) => hex(at));
  // A fault that keeps the processor busy gets more time than a silence: two such candidates still
  // fit into the budget.
  const cancellation = (at: number): object => {
    const { heavy, takes } = chosen[at]?.fault ?? {};
    return heavy === true && takes === undefined ? { first_byte_timeout_ms: 450 * scale } : {};
  };
  const naru = await startTestGateway({
    clock,
    // Whatever it opened must be closed at the end.
    hasOwnTokens: true,
    config: {
      limits: {
        connect_timeout_ms: budgets.firstByte * scale,
        first_byte_timeout_ms: budgets.firstByte * scale,
        stream_idle_timeout_ms: budgets.idle * scale,
        total_timeout_ms: budgets.total * scale,
        upstream_timeout_ms: budgets.all * scale,
        keep_alive_comment_ms: 60_000,
      },
      providers: [
        provider('good', good.port),
        ...places.flatMap((where, at) =>
          ['a', 'b'].map((letter) => ({
            ...provider(`${letter}${where}`, isRefused(chosen[at]) ? refusedPort : (sites[at]?.port ?? 0)),
            ...cancellation(at),
          })),
        ),
      ] as object,
      models: [
        model('test/good', ['good']),
        ...places.flatMap((where) => [
          model(`one/${where}`, [`a${where}`]),
          model(`three/${where}`, [`a${where}`, `b${where}`, 'good']),
        ]),
      ] as object,
    },
  });
  const standing: WorldState[] = [];
  for (const [at, { className, fault }] of chosen.entries()) {
    const site = sites[at];
    if (site === undefined) throw new Error('every fault has its site');
    // The reservation of one request exceeds this limit: if one leaks, the next request is
    // rejected.
    const account = await naru.account({ credit: '1000000', limit: '30000' });
    standing.push({
      className,
      fault,
      site,
      account,
      models: { one: `one/${hex(at)}`, three: `three/${hex(at)}` },
    });
  }
  return {
    naru,
    scale,
    standing,
    good,
    trap,
    secretOf,
    pendingTimers: () => [...clock.pending.values()],
    async close() {
      await naru.close();
      for (const site of sites) await site.close();
      await Promise.all([good.close(), trap.close()]);
    },
  };
}

function rescueUsage(): object {
  return { prompt_tokens: rescue.prompt, completion_tokens: rescue.completion };
}

/** Its path and its credential are its own. */
function provider(slug: string, port: number): object {
  return {
    slug,
    name: `Provider ${slug}`,
    dialect: 'openai',
    base_url: `http://127.0.0.1:${port}/${slug}/v1`,
    api_key: secretOf(slug),
    headers: { 'x-provider-extra': secretOf(slug) },
  };
}

function model(id: string, providers: readonly string[]): object {
  return {
    id,
    name: id,
    context_length: 32_768,
    input_modalities: ['text', 'image'],
    supported_parameters: ['tools', 'temperature'],
    price: { prompt: '0.3700005', completion: '1.1300007', currency: 'KRW', per: 'token', confirm: true },
    candidates: providers.map((slug) => ({ provider: slug, model: 'm' })),
  };
}
