import type { Client } from './client.ts';

/**
 * Continue. With its provider `openrouter` it identifies itself; with `openai` it sends the bare
 * headers of an SDK.
 */
export const continueAgent: Client = {
  name: 'Continue',
  package: '@continuedev/cli',
  registry: 'npm',
  kind: 'agent',
  brief: 'provider: openrouter, apiBase, apiKey',
  language: 'yaml',
  file: '~/.continue/config.yaml',
  remark:
    'The provider `openrouter` identifies itself as Continue. `provider: openai` works as well, but sends the bare headers of an SDK. Continue does not send reasoning back, so a model that requires it rejects the second turn.',
  app: 'Continue',
  snippet: `name: Naru
version: 1.0.0
schema: v1
models:
  - name: Naru
    provider: openrouter
    apiBase: http://127.0.0.1:8787/api/v1
    apiKey: sk-naru-v1-…
    model: naru/demo
`,
};
