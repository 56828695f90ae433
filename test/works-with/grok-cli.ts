import type { Client } from './client.ts';

/** grok-cli, which reads any API of the OpenAI dialect from three variables. */
export const grokCli: Client = {
  name: 'grok-cli',
  package: '@vibe-kit/grok-cli',
  registry: 'npm',
  kind: 'agent',
  brief: 'GROK_BASE_URL, GROK_API_KEY, GROK_MODEL',
  language: 'sh',
  file: null,
  remark: null,
  app: 'OpenAI SDK (JavaScript)',
  snippet: `export GROK_BASE_URL=http://127.0.0.1:8787/api/v1
export GROK_API_KEY=sk-naru-v1-…
export GROK_MODEL=naru/demo
grok
`,
};
