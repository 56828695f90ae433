import type { Client } from './client.ts';

/**
 * GitHub Copilot on the command line, which reads another provider from variables and then needs no
 * GitHub account.
 */
export const copilot: Client = {
  name: 'GitHub Copilot CLI',
  package: '@github/copilot',
  registry: 'npm',
  kind: 'agent',
  returnsReasoning: true,
  brief: 'COPILOT_PROVIDER_BASE_URL, COPILOT_PROVIDER_API_KEY, COPILOT_MODEL',
  language: 'sh',
  file: null,
  remark: null,
  app: 'OpenAI SDK (JavaScript)',
  snippet: `export COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:8787/api/v1
export COPILOT_PROVIDER_API_KEY=sk-naru-v1-…
export COPILOT_MODEL=naru/demo
copilot
`,
};
