import type { Client } from './client.ts';

/** Kimi Code with a provider of the OpenAI dialect. */
export const kimiCode: Client = {
  name: 'Kimi Code',
  package: '@moonshot-ai/kimi-code',
  registry: 'npm',
  kind: 'agent',
  returnsReasoning: true,
  brief: 'type = "openai", base_url, api_key',
  language: 'toml',
  file: '~/.kimi-code/config.toml',
  remark: 'Add `"thinking"` to the capabilities of a model that thinks.',
  app: 'Kimi Code',
  snippet: `default_model = "naru"

[providers.naru]
type = "openai"
base_url = "http://127.0.0.1:8787/api/v1"
api_key = "sk-naru-v1-…"

[models.naru]
provider = "naru"
model = "naru/demo"
max_context_size = 32768
capabilities = ["tool_use"]
`,
};
