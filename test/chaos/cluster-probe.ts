import { Agent } from 'node:http';
import type { Database } from '../../src/store/database.ts';
import { parseGenerationId } from '../../src/wire/ids/generation-id.ts';
import type { Payer } from '../harness/payer.ts';
import { request, type Sight } from './client.ts';

/** From the end of a response to its settlement in the database, milliseconds. */
export interface Delays {
  readonly here: readonly number[];
  readonly gone: readonly number[];
}

/** How often the database is looked at. */
const lookEveryMs = 20;
const pauseMs = 100;

/** Sends one request after another of an account and waits until each is in the database. */
export class SettlementProbe {
  readonly sights: Sight[] = [];
  readonly #url: string;
  readonly #database: Database;
  readonly #agent = new Agent({ keepAlive: true });
  #delays = { here: [] as number[], gone: [] as number[] };
  readonly #running: readonly Promise<void>[];
  #stopped = false;
  #goneWaits = 0;

  constructor(
    url: string,
    database: Database,
    { here, gone }: { readonly here: readonly Payer[]; readonly gone: readonly Payer[] },
  ) {
    this.#url = url;
    this.#database = database;
    this.#running = [
      ...here.slice(0, 4).map((payer) => this.#probe(payer, 'here')),
      ...gone.slice(0, 1).map((payer) => this.#probe(payer, 'gone')),
    ];
  }

  /** Whether no settlement of the server that is killed waits. */
  get isGoneSettled(): boolean {
    return this.#goneWaits === 0 && this.#delays.gone.length > 0;
  }

  /** The delays since the last call. */
  take(): Delays {
    const taken = this.#delays;
    this.#delays = { here: [], gone: [] };
    return taken;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
    this.#agent.destroy();
  }

  async #probe(payer: Payer, where: keyof Delays): Promise<void> {
    const script = { act: 'respond', wordCount: 3, waitMs: 0, prompt: 5 };
    const body = { model: 'test/echo', messages: [{ role: 'user', content: JSON.stringify(script) }] };
    for (let n = 1; !this.#stopped; n += 1) {
      const tag = `probe-${where}-${payer.accountId}-${n}`;
      const key = payer.keys[0]?.key ?? '';
      const order = { tag, accountId: payer.accountId, key, body, leaveAfterMs: null } as const;
      const sight = await request(this.#url, { ...order, path: '/chat/completions' }, this.#agent);
      const endedMs = performance.now();
      this.sights.push(sight);
      const uuid = parseGenerationId(sight.generationId ?? '');
      if (sight.kind === 'success' && uuid !== null) {
        if (where === 'gone') this.#goneWaits += 1;
        await this.#untilStored(payer.accountId, uuid);
        if (where === 'gone') this.#goneWaits -= 1;
        this.#delays[where].push(performance.now() - endedMs);
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  /** While the database is away nothing is seen in it. */
  async #untilStored(accountId: number, uuid: string): Promise<void> {
    for (;;) {
      const rows = await this.#database
        .query('SELECT 1 FROM generation WHERE account_id = $1 AND id = $2::uuid', [accountId, uuid])
        .catch(() => []);
      if (rows.length > 0) return;
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
  }
}
