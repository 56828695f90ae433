import type { Client } from './client.ts';

const common = { registry: 'npm', kind: 'library', language: 'ts', file: null, remark: null } as const;

/** The AI SDK with the provider for any API of the OpenAI dialect. */
export const aiSdkCompatible: Client = {
  ...common,
  name: 'AI SDK, OpenAI-compatible provider',
  package: '@ai-sdk/openai-compatible',
  brief: "createOpenAICompatible({ name: 'naru', baseURL, apiKey })",
  app: 'AI SDK',
  snippet: `import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText } from 'ai';

const baseURL = 'http://127.0.0.1:8787/api/v1';
const naru = createOpenAICompatible({ name: 'naru', baseURL, apiKey: 'sk-naru-v1-…' });
const { text } = await generateText({ model: naru('naru/demo'), prompt: '나루가 뭐야?' });
console.log(text);
`,
};

/** The AI SDK with the provider for OpenRouter: usage includes its cost. */
export const aiSdkOpenrouter: Client = {
  ...common,
  name: 'AI SDK, OpenRouter provider',
  package: '@openrouter/ai-sdk-provider',
  brief: 'createOpenRouter({ baseURL, apiKey })',
  app: 'AI SDK',
  snippet: `import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import { generateText } from 'ai';

const naru = createOpenRouter({ baseURL: 'http://127.0.0.1:8787/api/v1', apiKey: 'sk-naru-v1-…' });
const { text } = await generateText({ model: naru.chat('naru/demo'), prompt: '나루가 뭐야?' });
console.log(text);
`,
};
