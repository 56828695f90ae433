import type { Client } from './client.ts';

const common = { registry: 'npm', kind: 'library', language: 'ts', file: null, remark: null } as const;

/** LangChain's model for OpenAI. */
export const langchainOpenai: Client = {
  ...common,
  name: 'LangChain, `ChatOpenAI`',
  package: '@langchain/openai',
  brief: 'new ChatOpenAI({ model, apiKey, configuration: { baseURL } })',
  app: 'LangChain',
  snippet: `import { ChatOpenAI } from '@langchain/openai';

const configuration = { baseURL: 'http://127.0.0.1:8787/api/v1' };
const naru = new ChatOpenAI({ model: 'naru/demo', apiKey: 'sk-naru-v1-…', configuration });
const response = await naru.invoke('나루가 뭐야?');
console.log(response.text);
`,
};

/** LangChain's model for OpenRouter. */
export const langchainOpenrouter: Client = {
  ...common,
  name: 'LangChain, `ChatOpenRouter`',
  package: '@langchain/openrouter',
  brief: 'new ChatOpenRouter({ model, apiKey, baseURL })',
  app: 'LangChain',
  snippet: `import { ChatOpenRouter } from '@langchain/openrouter';

const baseURL = 'http://127.0.0.1:8787/api/v1';
const naru = new ChatOpenRouter({ model: 'naru/demo', apiKey: 'sk-naru-v1-…', baseURL });
const response = await naru.invoke('나루가 뭐야?');
console.log(response.text);
`,
};
