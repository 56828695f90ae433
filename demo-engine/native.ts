import { createRequire } from 'node:module';

/**
 * The used part of llama.cpp's binding, `@fugood/node-llama-<platform>-<arch>`: one native file;
 * the lockfile installs the CPU build for this machine. Its JavaScript wrapper package is not
 * needed.
 */
export interface NativeContext {
  /** Starts the decoder thread; false when that failed. */
  enableParallelMode(options: { readonly n_parallel: number; readonly n_batch: number }): boolean;
  /** Queues a request; `onEvent` receives each piece of text, then the result once. */
  queueCompletion(
    options: NativeRequest,
    onEvent: (error: unknown, event: NativePiece | NativeResult) => void,
  ): unknown;
  /** Token ids, special tokens in the text recognised. */
  tokenize(text: string): Promise<{ readonly tokens: Int32Array }>;
  /**
   * Stops the thread after its current batch (up to 15 ms, blocking) and frees the memory.
   * `onEvent` is not called again.
   */
  release(): Promise<void>;
}

/** A request in the format of the binding. */
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

/** A piece of text; never splits a character. */
export interface NativePiece {
  readonly token: string;
}

/** The end of a request. */
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

/** The maximum of prompt and response tokens of one request. */
export const contextTokens = 32_768;

// A small batch suits the sliding window (a prompt of 14,000 tokens takes 1.4 s, and 1.9 s with
// 512), and it is the longest that a disconnected client still costs.
const batchTokens = 128;

/** The loaded binding; it creates contexts, one per concurrent response. */
export interface NativeModel {
  /** Creates a context with its own thread; blocks for about 10 ms. */
  open(): NativeContext;
}

/** Prepares the binding for a model file. Throws when it is not installed. */
export function loadModel(modelPath: string): NativeModel {
  const require = createRequire(import.meta.url);
  const { LlamaContext } = require(`@fugood/node-llama-${process.platform}-${process.arch}`) as NativeModule;
  return {
    open() {
      const context = new LlamaContext({
        model: modelPath,
        // With the model's sliding window this takes at most 1 MB.
        n_ctx: contextTokens,
        n_batch: batchTokens,
        n_ubatch: batchTokens,
        // Two threads would spin while waiting for each other, on cores that others need.
        n_threads: 1,
        n_gpu_layers: 0,
        ctx_shift: false,
      });
      if (!context.enableParallelMode({ n_parallel: 1, n_batch: batchTokens })) {
        throw new Error('llama.cpp did not start its thread');
      }
      return context;
    },
  };
}
