import type { Client } from './client.ts';

/** The official SDK of OpenRouter, strict about every member of a response. */
export const openrouterSdk: Client = {
  name: 'OpenRouter SDK',
  package: '@openrouter/sdk',
  registry: 'npm',
  kind: 'library',
  brief: 'new OpenRouter({ serverURL, apiKey })',
  language: 'ts',
  file: null,
  remark: null,
  app: 'OpenRouter SDK',
  snippet: `import { OpenRouter } from '@openrouter/sdk';

const naru = new OpenRouter({ serverURL: 'http://127.0.0.1:8787/api/v1', apiKey: 'sk-naru-v1-…' });
const messages = [{ role: 'user' as const, content: '나루가 뭐야?' }];
const response = await naru.chat.send({ chatRequest: { model: 'naru/demo', messages, stream: false } });
console.log(response.choices[0]?.message.content);
`,
};
