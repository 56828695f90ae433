import type { Client } from './client.ts';

/** promptfoo, which compares prompts and models. */
export const promptfoo: Client = {
  name: 'promptfoo',
  package: 'promptfoo',
  versionByHand: '0.123.1',
  registry: 'npm',
  kind: 'library',
  brief: 'openai:chat:…, apiBaseUrl, apiKey',
  language: 'yaml',
  file: 'promptfooconfig.yaml',
  remark:
    'It is as large as all agents together, so no test installs it: it was run by hand against a whole gateway, and its bill was checked. It does not know the prices of Naru and shows a cost of 0.',
  app: 'Node.js',
  snippet: `prompts: ['{{question}}']
providers:
  - id: openai:chat:naru/demo
    config: { apiBaseUrl: 'http://127.0.0.1:8787/api/v1', apiKey: sk-naru-v1-… }
tests:
  - vars: { question: '나루가 뭐야?' }
`,
};
