import type { Client } from './client.ts';

/** The client of the dialect's owner. */
export const openai: Client = {
  name: 'OpenAI SDK',
  package: 'openai',
  registry: 'npm',
  kind: 'library',
  brief: 'new OpenAI({ baseURL, apiKey })',
  language: 'ts',
  file: null,
  remark: 'The response has `usage.cost`, in won, which the types of the package do not know.',
  app: 'OpenAI SDK (JavaScript)',
  snippet: `import OpenAI from 'openai';

const naru = new OpenAI({ baseURL: 'http://127.0.0.1:8787/api/v1', apiKey: 'sk-naru-v1-…' });
const messages = [{ role: 'user' as const, content: '나루가 뭐야?' }];
const response = await naru.chat.completions.create({ model: 'naru/demo', messages });
console.log(response.choices[0]?.message.content);
`,
};
