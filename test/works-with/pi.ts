import type { Client } from './client.ts';

/** pi, with a separate provider in its list of models. */
export const pi: Client = {
  name: 'pi',
  package: '@earendil-works/pi-coding-agent',
  registry: 'npm',
  kind: 'agent',
  returnsReasoning: true,
  brief: '"api": "openai-completions", "baseUrl", "apiKey"',
  language: 'json',
  file: '~/.pi/agent/models.json',
  remark: 'Then `pi --provider naru --model naru/demo`, or `/model` inside it.',
  app: 'pi',
  snippet: `{
  "providers": {
    "naru": {
      "api": "openai-completions",
      "baseUrl": "http://127.0.0.1:8787/api/v1",
      "apiKey": "sk-naru-v1-…",
      "models": [{ "id": "naru/demo" }]
    }
  }
}
`,
};
