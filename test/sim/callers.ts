import { maxClockSkewMs } from '../../src/time/clock.ts';
import { send } from './client.ts';
import type { ClientView } from './client-view.ts';
import { read } from './reader.ts';
import type { Holder, Simulation } from './simulation.ts';
import { beginningMs } from './time.ts';
import { maxWords } from './upstreams.ts';

/** How long a gateway has to release its upstreams once no request waits for anything. */
const releasedWithinMs = 2_000;

/**
 * The clients: each sends one request after another, to whichever gateway and with whichever key.
 */
export class Callers {
  readonly #simulation: Simulation;
  readonly #clientRestsMs: readonly number[];

  constructor(simulation: Simulation, clientRestsMs: readonly number[]) {
    this.#simulation = simulation;
    this.#clientRestsMs = clientRestsMs;
  }

  begin(clients: number): void {
    for (let n = 0; n < clients; n += 1)
      this.#client().catch((error: unknown) => this.#simulation.fail(error));
  }

  async #client(): Promise<void> {
    const { random, timeline } = this.#simulation;
    while (!this.#simulation.isEnding) {
      await timeline.pause(random.int(1, random.pick(this.#clientRestsMs)));
      if (this.#simulation.isEnding) return;
      const machine = random.pick(this.#simulation.machines);
      const holder = random.pick(this.#simulation.holders);
      const { gateway, process } = machine;
      if (gateway === null || machine.stopping) continue;
      if (random.inThousand(60)) await read(this.#simulation, { machine, gateway, process, holder });
      else await this.#request({ machine, gateway, process, holder });
    }
  }

  async #request({ machine, gateway, process, holder }: Parameters<typeof read>[1]): Promise<void> {
    const { random, timeline, views: all, truth } = this.#simulation;
    const id = `req_${all.size + 1}`;
    const view: ClientView = {
      id,
      accountId: holder.accountId,
      keyId: holder.keyId,
      gateway: machine.number,
      sentMs: timeline.nowMs,
      wasStreamed: random.inThousand(600),
      wasExpired: isExpired(holder, beginningMs + timeline.nowMs - maxClockSkewMs),
      end: 'running',
      generation: null,
      cost: null,
      status: null,
      endedMs: null,
      isUnrecorded: false,
    };
    all.set(id, view);
    const body = {
      model: random.pick(['sim/in-order', 'sim/weighted']),
      stream: view.wasStreamed,
      max_tokens: this.#sizeOf(random.int(1, this.#simulation.plan.kind === 'crowded' ? 10 : maxWords)),
      session_id: id,
      messages: [{ role: 'user', content: 'say something' }],
    };
    this.#simulation.note(
      `${id} of key ${holder.number} to ${process.name}${view.wasStreamed ? ', streamed' : ''}`,
    );
    const { errorType } = await send({
      view,
      process,
      gateway,
      timeline,
      key: holder.plaintext,
      body,
      leavesAfterMs: random.inThousand(150) ? random.int(1, 900) : null,
      slowMs: random.inThousand(100) ? random.int(1, 30) : null,
    });
    view.endedMs = timeline.nowMs;
    this.#simulation.note(`${id} ${view.end}${errorType === null ? '' : ` with ${errorType}`}`);
    this.#simulation.guarded(() => {
      truth.onResponse(view, this.#simulation.plan, errorType);
      this.#simulation.operator.onResponse(view, errorType, holder);
    });
    this.#lookForStreams(machine.number);
  }

  /** What a request allows of completion tokens: so many, or far more than it will use. */
  #sizeOf(wordCount: number): number {
    const { sizes, large } = this.#simulation;
    return sizes.inThousand(large) ? sizes.int(60, 150) : wordCount;
  }

  /** Once a gateway has no request, its calls to upstreams are over. */
  #lookForStreams(number: number): void {
    const { timeline, views, machines, calls, truth } = this.#simulation;
    timeline.after(releasedWithinMs, () => {
      const machine = machines.find((one) => one.number === number);
      const isSilent = [...views.values()].every(
        ({ gateway, end, endedMs }) =>
          gateway !== number || (end !== 'running' && timeline.nowMs - (endedMs ?? 0) >= releasedWithinMs),
      );
      if (machine === undefined || !isSilent) return;
      const open = calls.openOf(machine.process);
      this.#simulation.guarded(() =>
        truth.check(open === 0, () => `g${number} has no request, and ${open} calls to upstreams`),
      );
    });
  }
}

function isExpired({ expiresAtMs }: Holder, nowMs: number): boolean {
  return expiresAtMs !== null && nowMs >= expiresAtMs;
}
