/**
 * Reads the configuration again as often as it is asked to, once at a time: what was asked for during a reload is one more reload
 * after it, so that the file as it is last is what stays.
 */
export class Reloading<Subject> {
  readonly #reload: (subject: Subject) => Promise<void>;
  #subject: Subject | null = null;
  #isAsked = false;
  #running: Promise<void> | null = null;

  /** `reload` never throws. */
  constructor(reload: (subject: Subject) => Promise<void>) {
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
    this.#run();
  }

  /** Resolves once no reload runs; none begins any more. */
  async end(): Promise<void> {
    this.#subject = null;
    await this.#running;
  }

  #run(): void {
    if (this.#running !== null || this.#subject === null || !this.#isAsked) return;
    this.#isAsked = false;
    this.#running = this.#reload(this.#subject).finally(() => {
      this.#running = null;
      this.#run();
    });
  }
}
