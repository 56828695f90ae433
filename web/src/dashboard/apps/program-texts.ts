/** The clients whose way of sending headers is shown; docs/works-with.md tests each of them. */
export const clients = ['curl', 'python', 'typescript', 'openrouter', 'aiSdk', 'langchain'] as const;
export type Client = (typeof clients)[number];

/** What a program is filled with. */
export interface ProgramContext {
  /** The address of the API. */
  readonly base: string;
  readonly model: string;
  readonly message: string;
}

const address = 'https://my-app.example';
const title = 'My app';
const key = 'NARU_API_KEY';

/** A program that works as it is, with the key in the environment. */
export function programOf(client: Client, context: ProgramContext): string {
  return programs[client](context).join('\n');
}

/** The same with the key itself, and without an app: the first program of a person. */
export function programWithKey(client: Client, context: ProgramContext, plaintext: string): string {
  const isNeeded = (line: string): boolean =>
    ![address, title, 'import os'].some((part) => line.includes(part));
  return programs[client](context)
    .filter(isNeeded)
    .join('\n')
    .replace(`os.environ["${key}"]`, `"${plaintext}"`)
    .replace(`process.env.${key}`, `'${plaintext}'`)
    .replace(`$${key}`, plaintext);
}

const programs: Readonly<Record<Client, (context: ProgramContext) => readonly string[]>> = {
  curl: ({ base, model, message }) => [
    `curl ${base}/chat/completions \\`,
    `  -H "Authorization: Bearer $${key}" \\`,
    `  -H 'HTTP-Referer: ${address}' \\`,
    `  -H 'X-Title: ${title}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"model": "${model}", "messages": [{"role": "user", "content": "${message}"}]}'`,
  ],
  python: ({ base, model, message }) => [
    'import os',
    'from openai import OpenAI',
    '',
    'client = OpenAI(',
    `    base_url="${base}",`,
    `    api_key=os.environ["${key}"],`,
    `    default_headers={"HTTP-Referer": "${address}", "X-Title": "${title}"},`,
    ')',
    'response = client.chat.completions.create(',
    `    model="${model}",`,
    `    messages=[{"role": "user", "content": "${message}"}],`,
    ')',
    'print(response.choices[0].message.content)',
  ],
  typescript: ({ base, model, message }) => [
    "import OpenAI from 'openai';",
    '',
    'const client = new OpenAI({',
    `  baseURL: '${base}',`,
    `  apiKey: process.env.${key},`,
    `  defaultHeaders: { 'HTTP-Referer': '${address}', 'X-Title': '${title}' },`,
    '});',
    'const response = await client.chat.completions.create({',
    `  model: '${model}',`,
    `  messages: [{ role: 'user', content: '${message}' }],`,
    '});',
    'console.log(response.choices[0]?.message.content);',
  ],
  openrouter: ({ base, model, message }) => [
    "import { OpenRouter } from '@openrouter/sdk';",
    '',
    'const client = new OpenRouter({',
    `  serverURL: '${base}',`,
    `  apiKey: process.env.${key},`,
    `  httpReferer: '${address}',`,
    `  appTitle: '${title}',`,
    '});',
    `const messages = [{ role: 'user' as const, content: '${message}' }];`,
    `const chatRequest = { model: '${model}', messages, stream: false as const };`,
    'const response = await client.chat.send({ chatRequest });',
    'console.log(response.choices[0]?.message.content);',
  ],
  aiSdk: ({ base, model, message }) => [
    "import { createOpenAICompatible } from '@ai-sdk/openai-compatible';",
    "import { generateText } from 'ai';",
    '',
    'const naru = createOpenAICompatible({',
    "  name: 'naru',",
    `  baseURL: '${base}',`,
    `  apiKey: process.env.${key},`,
    `  headers: { 'HTTP-Referer': '${address}', 'X-Title': '${title}' },`,
    '});',
    `const { text } = await generateText({ model: naru('${model}'), prompt: '${message}' });`,
    'console.log(text);',
  ],
  langchain: ({ base, model, message }) => [
    "import { ChatOpenAI } from '@langchain/openai';",
    '',
    'const naru = new ChatOpenAI({',
    `  model: '${model}',`,
    `  apiKey: process.env.${key},`,
    '  configuration: {',
    `    baseURL: '${base}',`,
    `    defaultHeaders: { 'HTTP-Referer': '${address}', 'X-Title': '${title}' },`,
    '  },',
    '});',
    `console.log((await naru.invoke('${message}')).text);`,
  ],
};
