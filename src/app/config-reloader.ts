/**
 * Runs reloads one at a time. Requests during a reload cause one more reload after it, so that the
 * last version of the file is the one in effect.
 */
export class ConfigReloader<Subject> {
  readonly #reload: (subject: Subject, wasRequested: boolean) => Promise<void>;
  #subject: Subject | null = null;
  #isRequested = false;
  #running: Promise<void> | null = null;

  /** `reload` never throws; `askedBefore`: it was requested before `begin`. */
  constructor(reload: (subject: Subject, wasRequested: boolean) => Promise<void>) {
    this.#reload = reload;
  }

  /** Requests a reload. Before `begin` it is deferred, after `end` ignored. */
  request(): void {
    this.#isRequested = true;
    this.#run();
  }

  /** Requests a reload; resolves when no reload runs any more. */
  async requestAndWait(): Promise<void> {
    this.request();
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
    if (this.#running !== null || this.#subject === null || !this.#isRequested) return;
    this.#isRequested = false;
    this.#running = this.#reload(this.#subject, wasRequested).finally(() => {
      this.#running = null;
      this.#run();
    });
  }
}
