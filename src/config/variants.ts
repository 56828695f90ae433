/** Engines with OpenAI's API that are known to differ. */
// biome-ignore format: one word per line is no clearer
export const engineVariants = ['vllm', 'sglang', 'llama-server', 'ollama', 'lm-studio', 'transformers'] as const;

/** The APIs with the dialect `openai` that are known to differ; `generic` is any other one. */
// biome-ignore format: one word per line is no clearer
export const providerVariants = ['generic', 'openai', 'azure', 'deepseek', 'moonshot', 'mistral', 'xai', 'groq', 'together', 'fireworks', 'openrouter', ...engineVariants] as const;

/** The API of an upstream; `engine` is a slot that does not state its kind. */
export type Variant = (typeof providerVariants)[number] | 'engine';

/** Overrides of parameters, whatever the API accepts: another name, `drop` or `keep`. */
export type ParameterOverrides = Readonly<Record<string, string>>;
