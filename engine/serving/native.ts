import { createRequire } from 'node:module';

/**
 * The part that is used here of llama.cpp's binding, `@fugood/node-llama-<platform>-<arch>`: one native file, of which the
 * lockfile brings the CPU build for this machine. The package that wraps it in JavaScript is not needed.
 */
export interface NativeContext {
  /** Starts the thread that decodes for `n_parallel` requests in one batch. False when it could not. */
  enableParallelMode(options: { readonly n_parallel: number; readonly n_batch: number }): boolean;
  /** Queues a request; `onEvent` gets each piece of text, then once the result. */
  queueCompletion(
    options: NativeRequest,
    onEvent: (error: unknown, event: NativePiece | NativeResult) => void,
  ): { readonly requestId: number };
  /** Drops a request at its next batch of tokens; `onEvent` is not called again. */
  cancelRequest(requestId: number): void;
  /** Token ids, special tokens in the text recognised. */
  tokenize(text: string): Promise<{ readonly tokens: Int32Array }>;
}

/** A request in the words of the binding. */
export interface NativeRequest {
  readonly prompt: string;
  readonly n_predict: number;
  readonly temperature: number;
  readonly top_p: number;
  readonly top_k: number;
  readonly min_p: number;
  readonly penalty_freq: number;
  readonly penalty_present: number;
  readonly xtc_probability: number;
  readonly dry_multiplier: number;
  readonly seed?: number;
  readonly stop: readonly string[];
  readonly grammar?: string;
  readonly grammar_lazy?: boolean;
  readonly grammar_triggers?: readonly {
    readonly type: number;
    readonly value: string;
    readonly token: number;
  }[];
  readonly preserved_tokens?: readonly string[];
}

/** Text as it comes; never cut inside a character. */
export interface NativePiece {
  readonly token: string;
}

/** How a request ended. */
export interface NativeResult {
  readonly token?: undefined;
  readonly text: string;
  readonly stopped_eos: boolean;
  readonly stopped_limit: boolean;
  readonly stopped_word: boolean;
  readonly context_full: boolean;
  readonly timings: { readonly cache_n: number; readonly prompt_n: number; readonly predicted_n: number };
}

interface NativeModule {
  readonly LlamaContext: new (options: Readonly<Record<string, unknown>>) => NativeContext;
}

/** Tokens of prompt and answer together that one request may have. */
export const contextTokens = 32_768;

/**
 * Loads the model, in about 0.1 s during which nothing else runs. Throws when the binding is not installed or the file is
 * not a model. One thread: two would spin while they wait for each other on cores that others need.
 */
export function loadModel(modelPath: string, parallel: number): NativeContext {
  const require = createRequire(import.meta.url);
  const { LlamaContext } = require(`@fugood/node-llama-${process.platform}-${process.arch}`) as NativeModule;
  const context = new LlamaContext({
    model: modelPath,
    // The binding divides this among the lanes. The model's sliding window keeps the memory for it at a few MB.
    n_ctx: contextTokens * parallel,
    n_parallel: parallel,
    n_batch: 512,
    // A small batch suits the sliding window: a prompt of 14,000 tokens takes 1.4 s, and 1.9 s with 512.
    n_ubatch: 128,
    n_threads: 1,
    n_gpu_layers: 0,
    ctx_shift: false,
  });
  if (!context.enableParallelMode({ n_parallel: parallel, n_batch: 512 }))
    throw new Error('llama.cpp refused the parallel mode');
  return context;
}
