import type { Client } from './client.ts';

const agent = {
  registry: 'npm',
  package: 'opencode-ai',
  kind: 'agent',
  returnsReasoning: true,
  app: 'opencode',
} as const;
const file = { language: 'json', file: '~/.config/opencode/opencode.json' } as const;

/** opencode with its own provider name. */
export const opencode: Client = {
  ...agent,
  ...file,
  name: 'opencode',
  brief: '"npm": "@ai-sdk/openai-compatible", "baseURL", "apiKey"',
  remark:
    'The entry of a model may have `"limit": { "context": …, "output": … }`; without it opencode does not shorten long conversations.',
  snippet: `{
  "provider": {
    "naru": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "http://127.0.0.1:8787/api/v1", "apiKey": "sk-naru-v1-…" },
      "models": { "naru/demo": {} }
    }
  },
  "model": "naru/naru/demo"
}
`,
};

/** opencode with the provider that it has for OpenRouter, at another address. */
export const opencodeOpenrouter: Client = {
  ...agent,
  ...file,
  name: 'opencode, as OpenRouter',
  brief: '"npm": "@openrouter/ai-sdk-provider", "baseURL", "apiKey"',
  remark: null,
  snippet: `{
  "provider": {
    "naru": {
      "npm": "@openrouter/ai-sdk-provider",
      "options": { "baseURL": "http://127.0.0.1:8787/api/v1", "apiKey": "sk-naru-v1-…" },
      "models": { "naru/demo": {} }
    }
  },
  "model": "naru/naru/demo"
}
`,
};
