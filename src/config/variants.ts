/** Engines that speak OpenAI's API and are known to differ. */
export const engineVariants = ['vllm', 'sglang', 'llama-server', 'ollama', 'lm-studio'] as const;

/** The APIs that speak `openai` and are known to differ; `generic` is every other one. */
// biome-ignore format: one word a line says no more
export const providerVariants = ['generic', 'openai', 'azure', 'deepseek', 'moonshot', 'mistral', 'xai', 'groq', 'together', 'fireworks', 'openrouter', ...engineVariants] as const;

/** Which API it is; `engine` is a slot that does not say. */
export type Variant = (typeof providerVariants)[number] | 'engine';

/** What becomes of parameters whatever the API is known to take: another name, `drop` or `keep`. */
export type ParameterOverrides = Readonly<Record<string, string>>;
