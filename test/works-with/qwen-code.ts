import type { Client } from './client.ts';

/** Qwen Code, which reads any API of the OpenAI dialect from three variables. */
export const qwenCode: Client = {
  name: 'Qwen Code',
  package: '@qwen-code/qwen-code',
  registry: 'npm',
  kind: 'agent',
  brief: 'OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL',
  language: 'sh',
  file: null,
  remark:
    'Set up like this it does not send reasoning back, so a model that requires it rejects the second turn.',
  app: 'Qwen Code',
  snippet: `export OPENAI_BASE_URL=http://127.0.0.1:8787/api/v1
export OPENAI_API_KEY=sk-naru-v1-…
export OPENAI_MODEL=naru/demo
qwen
`,
};
