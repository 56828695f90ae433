export const codeLanguages = ['curl', 'typescript', 'python'] as const;
/** A language in which the request can be shown. */
export type CodeLanguage = (typeof codeLanguages)[number];

/** The parameters that the libraries of OpenAI know; the others are sent beside them. */
const known = new Set([
  ...['model', 'messages', 'stream', 'temperature', 'max_tokens', 'top_p', 'frequency_penalty'],
  ...['presence_penalty', 'seed', 'stop', 'tools', 'response_format'],
]);

type Body = Readonly<Record<string, unknown>>;

/** A program that sends the request as the playground does; the key is in the environment. */
export function codeOf(language: CodeLanguage, body: Body, origin: string): string {
  const base = `${origin}/api/v1`;
  switch (language) {
    case 'curl':
      return [
        `curl -N ${base}/chat/completions \\`,
        `  -H "Authorization: Bearer $NARU_API_KEY" \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d '${JSON.stringify(body, null, 2).replaceAll("'", `'\\''`)}'`,
      ].join('\n');
    case 'typescript':
      return typescript(body, base);
    case 'python':
      return python(body, base);
  }
}

/** The request with the data of its images shortened, since base64 has megabytes. */
export function shortened(body: Body): Body {
  const maxLength = 200;
  const text = JSON.stringify(body, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith('data:') && value.length > maxLength
      ? `${value.slice(0, value.indexOf(',') + 1)}…`
      : value,
  );
  return JSON.parse(text) as Body;
}

function split(body: Body): { readonly own: Body; readonly extra: Body } {
  const entries = Object.entries(body);
  return {
    own: Object.fromEntries(entries.filter(([name]) => known.has(name))),
    extra: Object.fromEntries(entries.filter(([name]) => !known.has(name))),
  };
}

function typescript(body: Body, base: string): string {
  const { own, extra } = split(body);
  const { stream: _, ...rest } = own;
  const hasExtra = Object.keys(extra).length > 0;
  const members = Object.entries(rest).map(([name, value]) => `  ${name}: ${indented(value)},`);
  return [
    "import OpenAI from 'openai';",
    '',
    `const client = new OpenAI({ baseURL: '${base}', apiKey: process.env.NARU_API_KEY });`,
    ...(hasExtra ? [`const more: object = ${JSON.stringify(extra, null, 2)};`] : []),
    'const stream = await client.chat.completions.create({',
    ...(hasExtra ? ['  ...more,'] : []),
    ...members,
    '  stream: true,',
    '});',
    "for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');",
  ].join('\n');
}

function indented(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', '\n  ');
}

function python(body: Body, base: string): string {
  const { own, extra } = split(body);
  const hasExtra = Object.keys(extra).length > 0;
  const stated = { ...own, ...(hasExtra ? { extra_body: extra } : {}) };
  const members = Object.entries(stated).map(([name, value]) => `    ${name}=${pythonValue(value, '    ')},`);
  return [
    'import os',
    '',
    'from openai import OpenAI',
    '',
    `client = OpenAI(base_url="${base}", api_key=os.environ["NARU_API_KEY"])`,
    'stream = client.chat.completions.create(',
    ...members,
    ')',
    'for chunk in stream:',
    '    if chunk.choices:',
    '        print(chunk.choices[0].delta.content or "", end="", flush=True)',
  ].join('\n');
}

/** A JSON value as Python writes it. */
function pythonValue(value: unknown, indent: string): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const inner = `${indent}    `;
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((item) => pythonValue(item, inner))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${pythonValue(item, inner)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (items.length === 0) return `${open}${close}`;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}${close}`;
}
