import { createLanes } from './lanes.ts';
import { contextTokens, type NativeContext, type NativeRequest, type NativeResult } from './native.ts';
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

/** What to generate. `grammar` are options of the binding that hold the answer to a grammar; none are needed. */
export interface GenerateRequest {
  readonly prompt: string;
  readonly sampling: Sampling;
  readonly stop: readonly string[];
  readonly maxTokens: number;
  readonly grammar: object;
}

/** How a generation ended, with its tokens as the engine counted them. */
export interface Outcome {
  readonly finish: 'stop' | 'length';
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

/** A loaded model behind its lanes. */
export interface Engine {
  /**
   * Generates in a lane of its own, waiting for one if need be; `onText` gets the text in pieces. Throws a 400 when the
   * prompt does not fit, and the signal's reason as soon as `signal` aborts; the lane is free again when it returns.
   */
  generate(request: GenerateRequest, onText: (text: string) => void, signal: AbortSignal): Promise<Outcome>;
  /** Token ids of a text. */
  tokenize(text: string): Promise<readonly number[]>;
  /** Generations under way. */
  readonly busy: number;
}

/** An engine on `context`, which was loaded for `parallel` lanes. */
export function createEngine(context: NativeContext, parallel: number): Engine {
  const lanes = createLanes(parallel);
  const tokenize = async (text: string): Promise<readonly number[]> => [
    ...(await context.tokenize(text)).tokens,
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
        return await run(
          context,
          { ...request, maxTokens: Math.min(request.maxTokens, contextTokens - length) },
          onText,
          signal,
        );
      } finally {
        lane.leave();
      }
    },
  };
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
    const { requestId } = context.queueCompletion(nativeRequestOf(request), (error, event) => {
      if (!error && event.token !== undefined) return show(filter.take(event.token));
      signal.removeEventListener('abort', cancel);
      if (error) return reject(new Error('llama.cpp failed', { cause: error }));
      show(filter.rest());
      resolve(outcomeOf(event as NativeResult, filter.stopped));
    });
    // The engine drops a cancelled request at its next batch and never speaks of it again, so nothing is waited for.
    const cancel = (): void => {
      context.cancelRequest(requestId);
      reject(signal.reason);
    };
    signal.addEventListener('abort', cancel, { once: true });
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
    // The binding has these two on unless told otherwise; the first drops the likeliest token in one case of ten.
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
