import type { DescribedConfig } from '../config/describe-config.ts';
import type { RunningConfiguration } from '../pages/console/configuration.ts';
import type { Clock } from '../time/clock.ts';

/** The parts of the configuration that a server follows. */
export interface FollowedParts {
  readonly file: string | null;
  /** Describes the file as it is; throws when it cannot be read. */
  readonly describe: () => DescribedConfig;
  readonly clock: Clock;
}

/** The configuration that a server follows: what was in effect last, and its file. */
export class FollowedConfiguration implements RunningConfiguration {
  readonly file: string | null;
  readonly #describe: () => DescribedConfig;
  readonly #clock: Clock;
  #running: DescribedConfig;
  #lastReload: RunningConfiguration['lastReload'] = null;
  #request: () => Promise<void> = async () => {};

  constructor({ file, describe, clock }: FollowedParts) {
    this.file = file;
    this.#describe = describe;
    this.#clock = clock;
    this.#running = describe();
  }

  get running(): DescribedConfig {
    return this.#running;
  }

  get lastReload(): RunningConfiguration['lastReload'] {
    return this.#lastReload;
  }

  onDisk(): DescribedConfig {
    return this.#describe();
  }

  async reload(): Promise<string | null> {
    await this.#request();
    return this.#lastReload?.error ?? null;
  }

  /** From now on `request` reloads, and resolves when that has ended. */
  begin(request: () => Promise<void>): void {
    this.#request = request;
  }

  /** A reload has ended; `error` says why it changed nothing. */
  reloaded(error: string | null): void {
    this.#lastReload = { atMs: this.#clock.now(), error };
    if (error === null) this.#running = this.#describe();
  }
}
