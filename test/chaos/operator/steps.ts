import assert from 'node:assert/strict';
import type { S3Server } from '../../backup/s3-server.ts';
import { type Nginx, startNginx } from '../../edge/nginx.ts';
import type { OwnPostgres } from '../../harness/own-postgres.ts';
import type { TossEmulator } from '../../harness/toss.ts';
import type { Upstream } from '../../harness/upstream.ts';
import type { OpenIdProvider } from '../../identity/openid-provider.ts';
import type { Caller } from './clients.ts';
import type { Machine, Printed } from './machine.ts';
import { commandsOf } from './pages.ts';

export const ports = {
  nginx: 22_650,
  console: 22_651,
  first: { api: 22_652, admin: 22_653 },
  second: { api: 22_654, admin: 22_655 },
};
/** The site of the API and the dashboard. */
export const site = `http://127.0.0.1:${ports.nginx}`;
export const consoleSite = `https://console.example.com:${ports.console}`;

/** A step as the report shows it. */
export interface StepDone {
  readonly place: string;
  readonly tookMs: number;
  readonly seen: string;
}

/** nginx with the files of `deploy/`, as the pages install it. */
export class Edge {
  #nginx: Nginx | null = null;
  /** Ports of the servers behind it. */
  behind: readonly number[] = [ports.first.api];

  /** What would change the real machine: the program is this repository, nginx is the trial's own. */
  readonly hands = async (command: string): Promise<boolean> => {
    if (command.startsWith('nginx -t')) {
      await this.stop();
      this.#nginx = await startNginx({
        behind: this.behind,
        at: { host: '127.0.0.1', port: ports.nginx },
        console: { port: ports.console, admin: ports.first.admin },
      });
      return true;
    }
    return /^(?:apt-get install|tar -xzf|mv \/opt|useradd|umask)/.test(command);
  };

  async stop(): Promise<void> {
    const nginx = this.#nginx;
    this.#nginx = null;
    await nginx?.stop();
  }
}

/** What the trial runs on. */
export interface TrialParts {
  readonly machines: readonly [Machine, Machine];
  readonly edge: Edge;
  readonly issuer: OpenIdProvider;
  readonly s3: S3Server;
  readonly upstream: Upstream;
  readonly toss: TossEmulator;
  readonly postgres: OwnPostgres;
  readonly quick: boolean;
  readonly print: (line: string) => void;
}

/** What the steps share. */
export class Trial {
  readonly done: StepDone[] = [];
  readonly parts: TrialParts;
  readonly ran = new Set<string>();
  caller: Caller | null = null;
  clockMs = Date.now();
  /** What the clients had paid before the month. */
  beforeMonthMicro = 0n;

  constructor(parts: TrialParts) {
    this.parts = parts;
  }

  get first(): Machine {
    return this.parts.machines[0];
  }

  get second(): Machine {
    return this.parts.machines[1];
  }

  get calls(): Caller {
    return this.caller ?? assert.fail('no client calls yet');
  }

  /**
   * Runs the commands of a section on a machine, with the words of the reader in place of those of the
   * page; `check` returns what a person saw.
   */
  async step(
    place: string,
    {
      on = this.first,
      words = {},
      without,
      check,
    }: {
      readonly on?: Machine;
      readonly words?: Readonly<Record<string, string>>;
      readonly without?: RegExp;
      readonly check: (printed: readonly Printed[]) => string | Promise<string>;
    },
  ): Promise<void> {
    const beganMs = performance.now();
    const printed: Printed[] = [];
    for (const command of commandsOf(place)) {
      if (without?.test(command) === true) continue;
      const own = Object.entries(words).reduce(
        (text, [word, value]) => text.replaceAll(word, value),
        command,
      );
      printed.push({ ...(await on.run(own)), command });
      this.ran.add(command);
    }
    this.note(place, beganMs, await check(printed));
  }

  note(place: string, beganMs: number, seen: string): void {
    const step = { place, tookMs: performance.now() - beganMs, seen };
    this.done.push(step);
    this.parts.print(`${(step.tookMs / 1_000).toFixed(1).padStart(6)} s  ${place}: ${seen}`);
  }

  async balanceMicro(): Promise<bigint> {
    const [account] = await this.first.rows('naru account show 2');
    return BigInt(Math.round(Number(account.balance_krw) * 1e6));
  }

  /** Verifies the ledger, and compares its charges with what the clients saw. */
  async assertLedger(): Promise<void> {
    await this.first.run('naru ledger verify');
    const entries = await this.first.rows('naru ledger export');
    const charged = entries
      .filter(({ account_id, kind }) => account_id === 2 && kind === 'usage')
      .reduce((sum, { amount_krw }) => sum - BigInt(Math.round(Number(amount_krw) * 1e6)), 0n);
    assert.ok(charged >= this.calls.seen.costMicro, `${charged} < ${this.calls.seen.costMicro}`);
    if (this.calls.seen.failed === 0) assert.equal(charged, this.calls.seen.costMicro);
  }
}

/** The last line that a step printed. */
export function lastLine(printed: readonly Printed[]): string {
  return printed.at(-1)?.out.trim().split('\n').at(-1) ?? '';
}
