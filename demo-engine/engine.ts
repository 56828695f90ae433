import { createLanes } from './lanes.ts';
import {
  contextTokens,
  type NativeContext,
  type NativeModel,
  type NativeRequest,
  type NativeResult,
} from './native.ts';
import { Refusal } from './refusal.ts';
import { createStopFilter } from './stops.ts';

/** How to choose each token. */
export interface Sampling {
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly minP: number;
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  readonly seed: number | null;
}

/**
 * What to generate. `grammar` are options of the binding that restrict the response to a grammar;
 * optional.
 */
export interface GenerateRequest {
  readonly prompt: string;
  readonly sampling: Sampling;
  readonly stop: readonly string[];
  readonly maxTokens: number;
  readonly grammar: object;
}

/** The end of a generation, with the token counts of the engine. */
export interface Outcome {
  readonly finish: 'stop' | 'length';
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

/** A loaded model behind its lanes. */
export interface Engine {
  /**
   * Generates in a lane, waiting for a free one; `onText` receives the text in pieces. Throws a 400
   * when the prompt does not fit, and the signal's reason when `signal` aborts; the lane is free
   * when it returns.
   */
  generate(request: GenerateRequest, onText: (text: string) => void, signal: AbortSignal): Promise<Outcome>;
  /** Token ids of a text. */
  tokenize(text: string): Promise<readonly number[]>;
  /** The number of running generations. */
  readonly busy: number;
}

/** An engine with `parallel` lanes on `model`. Throws when the model's file cannot be loaded. */
export function createEngine(model: NativeModel, parallel: number): Engine {
  const lanes = createLanes(parallel);
  const reader = model.open();
  const idle = Array.from({ length: parallel }, () => model.open());
  const tokenize = async (text: string): Promise<readonly number[]> => [
    ...(await reader.tokenize(text)).tokens,
  ];
  return {
    tokenize,
    get busy() {
      return lanes.busy;
    },
    async generate(request, onText, signal) {
      const { length } = await tokenize(request.prompt);
      if (length >= contextTokens) {
        const message = `the prompt has ${length} tokens; this model's context is ${contextTokens} tokens`;
        throw new Refusal(400, message, 'messages', 'context_length_exceeded');
      }
      const lane = await lanes.enter(signal);
      try {
        const context = idle.pop() ?? model.open();
        const maxTokens = Math.min(request.maxTokens, contextTokens - length);
        const outcome = await runOrDrop(context, { ...request, maxTokens }, onText, signal);
        idle.push(context);
        return outcome;
      } finally {
        lane.leave();
      }
    },
  };
}

/**
 * Runs a request to its end, or drops its context. The binding can cancel a single request, but it
 * frees the request while its thread works on it: three of sixty cancellations crashed the process.
 */
async function runOrDrop(
  context: NativeContext,
  request: GenerateRequest,
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    return await run(context, request, onText, signal);
  } catch (thrown) {
    await context.release();
    throw thrown;
  }
}

function run(
  context: NativeContext,
  request: GenerateRequest,
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const filter = createStopFilter(request.stop);
    const show = (text: string): void => {
      if (text !== '' && !signal.aborted) onText(text);
    };
    const giveUp = (): void => reject(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    context.queueCompletion(nativeRequestOf(request), (error, event) => {
      if (!error && event.token !== undefined) return show(filter.take(event.token));
      signal.removeEventListener('abort', giveUp);
      if (error) return reject(new Error('llama.cpp failed', { cause: error }));
      show(filter.rest());
      resolve(outcomeOf(event as NativeResult, filter.stopped));
    });
  });
}

function nativeRequestOf({ prompt, sampling, stop, maxTokens, grammar }: GenerateRequest): NativeRequest {
  return {
    prompt,
    n_predict: maxTokens,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    min_p: sampling.minP,
    penalty_freq: sampling.frequencyPenalty,
    penalty_present: sampling.presencePenalty,
    // The binding enables both by default; the first drops the likeliest token in one case of ten.
    xtc_probability: 0,
    dry_multiplier: 0,
    ...(sampling.seed === null ? {} : { seed: sampling.seed }),
    stop,
    ...grammar,
  };
}

function outcomeOf({ timings, stopped_limit, context_full }: NativeResult, stopped: boolean): Outcome {
  return {
    finish: (stopped_limit || context_full) && !stopped ? 'length' : 'stop',
    promptTokens: timings.cache_n + timings.prompt_n,
    cachedTokens: timings.cache_n,
    completionTokens: timings.predicted_n,
  };
}
