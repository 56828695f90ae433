/**
 * Reads the configuration again as often as it is asked to, once at a time: what was asked for during a reload is one more reload
 * after it, so that the file as it is last is what stays.
 */
export class ConfigReloader<Subject> {
  readonly #reload: (subject: Subject, askedBefore: boolean) => Promise<void>;
  #subject: Subject | null = null;
  #isAsked = false;
  #running: Promise<void> | null = null;

  /** `reload` never throws; `askedBefore` tells that it was asked for before `begin`. */
  constructor(reload: (subject: Subject, askedBefore: boolean) => Promise<void>) {
    this.#reload = reload;
  }

  /** Asks for a reload, from any signal or event; before `begin` and after `end` it waits, or is forgotten. */
  ask(): void {
    this.#isAsked = true;
    this.#run();
  }

  /** From now on there is something to reload. */
  begin(subject: Subject): void {
    this.#subject = subject;
    this.#run(true);
  }

  /** Resolves once no reload runs; none begins any more. */
  async end(): Promise<void> {
    this.#subject = null;
    await this.#running;
  }

  #run(askedBefore = false): void {
    if (this.#running !== null || this.#subject === null || !this.#isAsked) return;
    this.#isAsked = false;
    this.#running = this.#reload(this.#subject, askedBefore).finally(() => {
      this.#running = null;
      this.#run();
    });
  }
}
