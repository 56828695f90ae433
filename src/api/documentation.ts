import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import type { Exchange } from '../http/exchange.ts';
import type { JsonReply } from '../wire/reply.ts';
import { openapi } from './openapi.ts';
import { type AnyRoute, route } from './route.ts';

/**
 * The files of the documentation page, by the name under `/docs/`: two from its package, two of our
 * own.
 */
const bundle: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'start.js': 'text/javascript; charset=utf-8',
};

/** Constant until another version is started. */
const cached = { 'Cache-Control': 'public, max-age=300' };

/**
 * `GET /openapi.json`, and `/docs` to read it and try it with an API key, in Korean and English.
 * Everything is served from here.
 */
export function documentationRoutes(routes: () => readonly AnyRoute[], version: string) {
  const documents = new Map<'ko' | 'en', Buffer>();
  const documentIn = (language: 'ko' | 'en'): Buffer => {
    const known = documents.get(language);
    if (known !== undefined) return known;
    const text = Buffer.from(JSON.stringify(openapi(routes(), { version, language })));
    documents.set(language, text);
    return text;
  };
  return [
    route({
      method: 'GET',
      path: '/openapi.json',
      credential: 'none',
      handle: ({ exchange }) => ({
        body: documentIn(languageOf(exchange) ?? 'en'),
        contentType: 'application/json; charset=utf-8',
        headers: cached,
      }),
    }),
    route({
      method: 'GET',
      path: '/docs',
      credential: 'none',
      handle: ({ exchange }) => page(languageOf(exchange) ?? 'ko'),
    }),
    route({
      method: 'GET',
      path: '/docs/{file}',
      credential: 'none',
      handle: ({ params, exchange }) => bundled(params.file, exchange.path),
    }),
  ];
}

/** The language that `lang` selects; null for none. */
function languageOf({ queryText }: Exchange): 'ko' | 'en' | null {
  const lang = new URLSearchParams(queryText).get('lang');
  return lang === 'ko' || lang === 'en' ? lang : null;
}

function bundled(file: string, path: string): JsonReply {
  const contentType = Object.hasOwn(bundle, file) ? bundle[file] : undefined;
  if (contentType === undefined) throw refuse('no_such_path', messages.noSuchPath(path), { path });
  const text = Object.hasOwn(own, file) ? own[file] : undefined;
  const body = text === undefined ? fileOf(file) : Buffer.from(text);
  return { body, contentType, headers: { 'Cache-Control': 'public, max-age=86400' } };
}

const files = new Map<string, Buffer>();

/** A file of the page's package, read once. */
function fileOf(name: string): Buffer {
  const known = files.get(name);
  if (known !== undefined) return known;
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const read = readFileSync(join(folder, name));
  files.set(name, read);
  return read;
}

const message = {
  ko: {
    title: 'Naru API 문서',
    other: 'English',
    otherHref: '/docs?lang=en',
    hint: 'Authorize를 눌러 API 키를 입력하면 바로 호출해 볼 수 있습니다.',
  },
  en: {
    title: 'Naru API',
    other: '한국어',
    otherHref: '/docs?lang=ko',
    hint: 'Press Authorize and enter an API key to try the calls.',
  },
} as const;

/** What the page may load, do and be embedded in: its own files, and nothing inline. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page's own script and style, by the name under `/docs/`. */
const own: Readonly<Record<string, string>> = {
  'start.js': `SwaggerUIBundle({
  url: '/openapi.json?lang=' + document.documentElement.lang,
  dom_id: '#api',
  deepLinking: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`,
  'page.css': `body{margin:0}
header{display:flex;gap:1rem;align-items:baseline;padding:1rem 2rem;font-family:system-ui,sans-serif;border-bottom:1px solid #ddd}
header h1{font-size:1.2rem;margin:0}
header p{margin:0;color:#555;flex:1}
`,
};

function page(language: 'ko' | 'en'): JsonReply {
  const { title, other, otherHref, hint } = message[language];
  const html = `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<header><h1>${title}</h1><p>${hint}</p><a href="${otherHref}">${other}</a></header>
<main id="api"></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;
  return {
    body: Buffer.from(html),
    contentType: 'text/html; charset=utf-8',
    headers: {
      ...cached,
      'Content-Security-Policy': policy,
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
    },
  };
}
