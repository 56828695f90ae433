import type { Client } from './client.ts';

/** Kilo, whose command line tool is configured as opencode is. */
export const kilo: Client = {
  name: 'Kilo',
  package: '@kilocode/cli',
  registry: 'npm',
  kind: 'agent',
  returnsReasoning: true,
  brief: '"npm": "@ai-sdk/openai-compatible", "baseURL", "apiKey"',
  language: 'json',
  file: '~/.config/kilo/kilo.json',
  remark: null,
  app: 'Kilo Code',
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
