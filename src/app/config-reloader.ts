/**
 * Reloads once, for all these requests; never throws. `wasRequested`: they came before `begin`.
 */
type Reload<Subject, Reason> = (
  subject: Subject,
  reasons: readonly Reason[],
  wasRequested: boolean,
) => Promise<void>;

/**
 * Runs reloads one at a time. Requests during a reload cause one more reload after it, so that the
 * last version of the file is the one in effect.
 */
export class ConfigReloader<Subject, Reason> {
  readonly #reload: Reload<Subject, Reason>;
  #subject: Subject | null = null;
  #reasons: Reason[] = [];
  #running: Promise<void> | null = null;

  constructor(reload: Reload<Subject, Reason>) {
    this.#reload = reload;
  }

  /** Requests a reload. Before `begin` it is deferred, after `end` ignored. */
  request(reason: Reason): void {
    this.#reasons.push(reason);
    this.#run();
  }

  /** Requests a reload; resolves when no reload runs any more. */
  async requestAndWait(reason: Reason): Promise<void> {
    this.request(reason);
    while (this.#running !== null) await this.#running;
  }

  /** Sets the subject to reload and runs a deferred reload. */
  begin(subject: Subject): void {
    this.#subject = subject;
    this.#run(true);
  }

  /** Resolves once no reload runs; no more reloads begin. */
  async end(): Promise<void> {
    this.#subject = null;
    await this.#running;
  }

  #run(wasRequested = false): void {
    if (this.#running !== null || this.#subject === null || this.#reasons.length === 0) return;
    const reasons = this.#reasons;
    this.#reasons = [];
    this.#running = this.#reload(this.#subject, reasons, wasRequested).finally(() => {
      this.#running = null;
      this.#run();
    });
  }
}
