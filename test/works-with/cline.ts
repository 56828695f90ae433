import type { Client } from './client.ts';

/** Cline on the command line. */
export const cline: Client = {
  name: 'Cline',
  package: 'cline',
  registry: 'npm',
  kind: 'agent',
  returnsReasoning: true,
  brief: 'cline auth --provider openai --baseurl … --apikey … --modelid …',
  language: 'sh',
  file: null,
  remark: null,
  app: 'AI SDK',
  snippet: `cline auth --provider openai --modelid naru/demo \\
  --baseurl http://127.0.0.1:8787/api/v1 --apikey sk-naru-v1-…
cline
`,
};
