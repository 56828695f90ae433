import { read } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { onSignOut } from '../../app/sign-out.ts';
import { CallFailed, streamCompletion, withChunk } from './completion.ts';
import {
  type Bill,
  estimatePrompt,
  type Failure,
  type Message,
  newMessage,
  newRun,
  type Run,
  wireMessages,
} from './conversation.ts';
import { KeyOff, playgroundKey, renewKey } from './playground-key.ts';
import { noSettings, type Settings } from './settings.ts';

/** What the page shows and what a person has typed: it stays while other pages are visited. */
export interface Snapshot {
  readonly messages: readonly Message[];
  readonly settings: Settings;
  readonly draft: string;
  /** The model that was used last, for a visit without one in the address. */
  readonly model: string;
  readonly isRunning: boolean;
}

const empty: Snapshot = { messages: [], settings: noSettings, draft: '', model: '', isRunning: false };
const maxBillReads = 60;
const billPauseMs = 500;

/** The playground of one account in this tab: the conversation, and the request in flight. */
class Playground {
  readonly #accountId: number;
  readonly #listeners = new Set<() => void>();
  #state = empty;
  #abort: AbortController | null = null;

  constructor(accountId: number) {
    this.#accountId = accountId;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): Snapshot => this.#state;

  set(changes: Partial<Omit<Snapshot, 'isRunning'>>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of this.#listeners) listener();
  }

  /** Replaces the message with this id; null takes it away. */
  edit(id: number, change: (message: Message) => Message | null): void {
    this.set({
      messages: this.#state.messages.flatMap((message) => {
        const changed = message.id === id ? change(message) : message;
        return changed === null ? [] : [changed];
      }),
    });
  }

  /** Takes away the message with this id and all after it. */
  cutFrom(id: number): void {
    const at = this.#state.messages.findIndex((message) => message.id === id);
    if (at >= 0) this.set({ messages: this.#state.messages.slice(0, at) });
  }

  /** Sends the conversation; the answer streams into a new message at its end. */
  async run(model: string, members: object, keyName: string): Promise<void> {
    if (this.#abort !== null) return;
    const abort = new AbortController();
    this.#abort = abort;
    const { messages } = this.#state;
    const body = { model, messages: wireMessages(messages), ...members, stream: true };
    const answer = newMessage('assistant', { run: newRun(model, estimatePrompt(messages)) });
    this.#state = { ...this.#state, isRunning: true };
    this.set({ messages: [...messages, answer] });
    let failure: Failure | null = null;
    try {
      await this.#stream(answer.id, body, keyName, abort.signal);
    } catch (error) {
      failure = abort.signal.aborted ? null : failureOf(error);
    }
    await this.#end(answer.id, abort.signal.aborted, failure);
  }

  /** Aborts the request: the server stops the model and bills what was generated. */
  stop(): void {
    this.#abort?.abort();
  }

  async #stream(id: number, body: object, keyName: string, signal: AbortSignal): Promise<void> {
    const use = async (plaintext: string): Promise<void> => {
      for await (const chunk of streamCompletion(body, plaintext, signal))
        this.edit(id, (message) => withChunk(message, chunk));
    };
    const plaintext = await playgroundKey(this.#accountId, keyName);
    signal.throwIfAborted();
    try {
      await use(plaintext);
    } catch (error) {
      // Another tab has replaced the key.
      if (!(error instanceof CallFailed && error.failure.status === 401)) throw error;
      const renewed = await renewKey(this.#accountId, keyName);
      signal.throwIfAborted();
      await use(renewed);
    }
  }

  /** Ends the run. What was cut off before its last event is billed all the same: the record has it. */
  async #end(id: number, isStopped: boolean, failure: Failure | null): Promise<void> {
    const ended = (changes: Partial<Run>): void =>
      this.edit(id, (message) =>
        message.run === null ? message : { ...message, run: { ...message.run, ...changes } },
      );
    const run = this.#state.messages.find((message) => message.id === id)?.run;
    ended({ state: 'settling', endedMs: Date.now(), isStopped, failure });
    this.#abort = null;
    this.#state = { ...this.#state, isRunning: false };
    this.set({});
    const generationId = run?.generationId ?? null;
    const bill = run?.bill ?? (generationId === null ? null : await readBill(generationId));
    ended({ state: 'ended', bill });
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof CallFailed) return error.failure;
  if (error instanceof KeyOff) return { status: 403, type: 'key_off', words: '' };
  if (error instanceof ApiError)
    return { status: error.status, type: error.type, words: Object.values(error.words).join(' ') };
  return { status: 0, type: 'unknown', words: '' };
}

/** The bill from the record of a request, which is there a moment after it ended; null when it stays away. */
async function readBill(id: string): Promise<Bill | null> {
  for (let attempt = 1; attempt <= maxBillReads; attempt += 1) {
    try {
      const { items } = await read('GET /dashboard/api/generations', { query: { find: id } });
      const [listing] = items;
      if (listing !== undefined)
        return {
          promptTokens: listing.prompt_tokens,
          completionTokens: listing.completion_tokens,
          reasoningTokens: listing.reasoning_tokens,
          costMicro: listing.cost_micro,
        };
    } catch (error) {
      if (!(error instanceof ApiError && error.isTemporary)) return null;
    }
    await new Promise((resolve) => setTimeout(resolve, billPauseMs));
  }
  return null;
}

const playgrounds = new Map<number, Playground>();

onSignOut(() => {
  for (const playground of playgrounds.values()) playground.stop();
  playgrounds.clear();
});

/** The playground of an account. */
export function playgroundOf(accountId: number): Playground {
  const known = playgrounds.get(accountId) ?? new Playground(accountId);
  playgrounds.set(accountId, known);
  return known;
}

export type { Playground };
