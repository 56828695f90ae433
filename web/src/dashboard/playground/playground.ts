import { useSyncExternalStore } from 'react';
import { read } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { onSignOut } from '../../app/sign-out.ts';
import type { Detail } from '../../requests/detail.ts';
import { CallFailed, streamCompletion, withChunk } from './completion.ts';
import {
  type Bill,
  estimatePrompt,
  type FailedAttempt,
  type Failure,
  type Message,
  newMessage,
  newRun,
  type Run,
  wireMessages,
} from './conversation.ts';
import { forgetConversations, keepConversation, keptConversation } from './kept-conversation.ts';
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
const readPauseMs = 500;
/** A cut answer is recorded when the upstream has stopped; a refusal at once, or never. */
const maxReads = { cut: 60, refused: 4 };

/** The playground of one account in this tab: the conversation, and the request in flight. */
class Playground {
  readonly #accountId: number;
  readonly #listeners = new Set<() => void>();
  #state: Snapshot;
  #abort: AbortController | null = null;

  constructor(accountId: number) {
    this.#accountId = accountId;
    this.#state = { ...empty, ...keptConversation(accountId) };
    // The page before was left in the middle of an answer, which cut its connection.
    for (const { id, run } of this.#state.messages) {
      if (run === null || run.state === 'ended') continue;
      const isCut = run.state !== 'settling' || run.failure?.type === 'unreachable';
      void this.#end(id, isCut || run.isStopped, isCut ? null : run.failure);
    }
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

  /** Keeps the conversation for the next time that this tab loads the page. */
  keep(): void {
    const { isRunning: _, ...kept } = this.#state;
    keepConversation(this.#accountId, kept);
  }

  async #stream(id: number, body: object, keyName: string, signal: AbortSignal): Promise<void> {
    const use = async (plaintext: string): Promise<void> => {
      // What arrives is read and shown once a frame, and for a tenth of the time at most: a model may
      // send hundreds of pieces a second, and a frame of a long answer takes longer.
      for await (const chunks of streamCompletion(body, plaintext, signal)) {
        await nextFrame();
        const startedMs = performance.now();
        this.edit(id, (message) => chunks.reduce(withChunk, message));
        await pause(0, signal);
        await pause(restFactor * (performance.now() - startedMs), signal);
      }
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
    ended({ state: 'settling', endedMs: Date.now(), isStopped, failure });
    this.#abort = null;
    this.#state = { ...this.#state, isRunning: false };
    this.set({});
    const run = this.#state.messages.find((message) => message.id === id)?.run;
    const { bill = null, generationId = null } = run ?? {};
    const recordId = generationId ?? failure?.requestId ?? null;
    const record =
      recordId === null || (bill !== null && failure === null)
        ? null
        : await readRecord(recordId, generationId === null ? maxReads.refused : maxReads.cut);
    ended({ state: 'ended', ...(record === null ? {} : recordedOf(record, bill)) });
  }
}

/** After a frame that took so long, the next one waits this many times as long. */
const restFactor = 9;
/** A hidden tab has no frames. */
const maxFrameMs = 1_000;

/** Resolves within the next frame, before it is painted. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => resolve());
    setTimeout(resolve, maxFrameMs);
  });
}

/** Resolves after so many milliseconds, or when `signal` aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      signal.removeEventListener('abort', done);
      resolve();
    };
    setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}

function failureOf(error: unknown): Failure {
  if (error instanceof CallFailed) return error.failure;
  if (error instanceof KeyOff) return { status: 403, type: 'key_off', words: '', requestId: null };
  if (error instanceof ApiError) {
    const words = Object.values(error.words).join(' ');
    return { status: error.status, type: error.type, words, requestId: null };
  }
  return { status: 0, type: 'unknown', words: '', requestId: null };
}

/** The record of a request, which is there a moment after it ended; null when it stays away. */
async function readRecord(id: string, reads: number): Promise<Detail | null> {
  for (let attempt = 1; attempt <= reads; attempt += 1) {
    try {
      const { items } = await read('GET /dashboard/api/generations', { query: { find: id } });
      const [found] = items;
      if (found !== undefined)
        return await read('GET /dashboard/api/generations/{id}', { params: { id: found.id } });
    } catch (error) {
      if (!(error instanceof ApiError && error.isTemporary)) return null;
    }
    await new Promise((resolve) => setTimeout(resolve, readPauseMs));
  }
  return null;
}

/** What the record of a request says that its stream did not. */
function recordedOf({ listing, attempts }: Detail, bill: Bill | null): Partial<Run> {
  const failedAttempts = attempts.flatMap(({ provider, status, failure, message }): FailedAttempt[] =>
    failure === null ? [] : [{ provider, status, failure, message }],
  );
  return {
    generationId: listing.id,
    failedAttempts,
    bill: bill ?? {
      promptTokens: listing.prompt_tokens,
      completionTokens: listing.completion_tokens,
      reasoningTokens: listing.reasoning_tokens,
      costMicro: listing.cost_micro,
    },
  };
}

const playgrounds = new Map<number, Playground>();

onSignOut(() => {
  for (const playground of playgrounds.values()) playground.stop();
  playgrounds.clear();
  forgetConversations();
});

// The last event that a page surely gets; a phone may end it any time after it was hidden.
addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') for (const playground of playgrounds.values()) playground.keep();
});

/** The playground of an account. */
export function playgroundOf(accountId: number): Playground {
  const known = playgrounds.get(accountId) ?? new Playground(accountId);
  playgrounds.set(accountId, known);
  return known;
}

/** A part of what the playground has; the page is rendered again when that part changes. */
export function usePlayground<K extends keyof Snapshot>(playground: Playground, part: K): Snapshot[K] {
  return useSyncExternalStore(playground.subscribe, () => playground.snapshot()[part]);
}

export type { Playground };
