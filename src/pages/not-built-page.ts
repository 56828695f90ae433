import type { JsonReply } from '../wire/reply.ts';

const texts = {
  ko: {
    title: '화면이 아직 준비되지 않았습니다',
    body: '웹 화면이 빌드되지 않았습니다. Naru를 설치한 폴더에서 <code>npm run build</code>를 실행한 후 이 페이지를 새로 고쳐 주세요. API는 정상적으로 사용할 수 있습니다.',
  },
  en: {
    title: 'The web pages are not built yet',
    body: 'The web pages were not built. Run <code>npm run build</code> in the installation folder of Naru, then reload this page. The API works normally.',
  },
} as const;

/**
 * A page without script or style that describes how to build the app. Korean unless the browser
 * prefers English to it.
 */
export function notBuiltPage(acceptLanguage: string | undefined): JsonReply {
  const language = /^\s*en\b/i.test(acceptLanguage ?? '') ? 'en' : 'ko';
  const { title, body } = texts[language];
  return {
    status: 503,
    body: Buffer.from(`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Naru</title>
</head>
<body>
<h1>${title}</h1>
<p>${body}</p>
</body>
</html>
`),
    contentType: 'text/html; charset=utf-8',
  };
}
