import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { array, constantFrom, oneof, option, property, record, string } from 'fast-check';
import { resolveApp, webAddress } from '../../src/generations/apps.ts';
import { check } from '../harness/property.ts';

function app(title: string | null, referer: string | null = null, userAgent: string | null = null) {
  return resolveApp({ title, referer, userAgent });
}

/** Name and URL, since an id is not readable. */
function output(...from: Parameters<typeof app>): readonly (string | null)[] | null {
  const found = app(...from);
  return found === null ? null : [found.name, found.url];
}

describe('the identity of an app', () => {
  test('the URL is its identity, and the title its name', () => {
    assert.deepEqual(output('Mine', 'https://mine.example/app', 'curl/8.5'), [
      'Mine',
      'https://mine.example/app',
    ]);
    assert.deepEqual(output(null, 'https://mine.example:8443/', null), [
      'mine.example:8443',
      'https://mine.example:8443',
    ]);
    const ids = ['Mine', 'Renamed', null].map((title) => app(title, 'https://mine.example')?.id);
    assert.equal(new Set(ids).size, 1);
  });

  test('a URL is one app in every spelling, and another page is another app', () => {
    const spellings = [
      'https://mine.example/app',
      'HTTPS://MINE.example:443/app/',
      'https://mine.example//app//?utm=1#top',
      'https://user:secret@mine.example/app.git',
      ' https://mine.example/x/../app ',
    ];
    assert.deepEqual(
      [...new Set(spellings.map((each) => app(null, each)?.url))],
      ['https://mine.example/app'],
    );
    assert.equal(new Set(spellings.map((each) => app(null, each)?.id)).size, 1);
    assert.notEqual(app(null, 'https://mine.example/other')?.id, app(null, spellings[0])?.id);
  });

  test('without a URL the title is its identity', () => {
    assert.deepEqual(output('나루 앱', null, 'curl/8.5'), ['나루 앱', null]);
    assert.equal(app('나루 앱')?.id, app('  나루\t앱 '.normalize('NFD'))?.id);
    assert.notEqual(app('a')?.id, app('b')?.id);
  });

  test('a URL that is not a web page is ignored', () => {
    for (const referer of [
      '',
      'app',
      '//x',
      'javascript:alert(1)',
      'data:text/html,<script>',
      'file:///etc/passwd',
      'ftp://x.example',
      'https://',
      'https://%00',
      'vscode-webview://1',
      '\u{0}',
    ])
      assert.equal(webAddress(referer), null, referer);
  });

  test('a loopback URL does not identify an app', () => {
    for (const host of ['localhost:3000', '127.0.0.1', '127.1', '[::1]:80', '0.0.0.0', 'app.localhost']) {
      assert.deepEqual(output('Mine', `http://${host}/`, null), ['Mine', null], host);
      assert.deepEqual(output(null, `http://${host}/`, 'curl/8.5'), ['curl', 'https://curl.se'], host);
    }
  });

  test('a title is one printable line of at most a hundred characters, and never splits a character', () => {
    assert.deepEqual(output(' a\r\n b\u{0}c\u{202e}d\u{2028}e '), ['a b c d e', null]);
    assert.deepEqual(output('👨‍👩‍👧 가족'), ['👨‍👩‍👧 가족', null]);
    assert.deepEqual(output(`x${'😀'.repeat(60)}`), [`x${'😀'.repeat(49)}`, null]);
    for (const nothing of ['', '  ', '\u{0}', '\u{200b}', '\u{202e}\u{2028}'])
      assert.equal(app(nothing), null);
    assert.deepEqual(output('\ud800'), ['\u{fffd}', null]);
  });

  test('a very long URL becomes its origin, and a very long host is ignored', () => {
    assert.equal(webAddress(`https://x.example/${'p'.repeat(8_000)}`), 'https://x.example');
    assert.equal(webAddress(`https://${'h'.repeat(300)}.example/`), null);
  });
});

// What the programs really send; those of the client matrix and of the agents are read from their
// requests in their own tests.
const userAgents: readonly (readonly [userAgent: string, name: string | null])[] = [
  ['opencode/1.0.220 ai-sdk/provider-utils/3.0.17 runtime/bun/1.3.5', 'opencode'],
  ['Cline/3.38.1', 'Cline'],
  ['QwenCode/0.24.4 (linux; x64)', 'Qwen Code'],
  ['Zed/0.215.3 (linux; x86_64)', 'Zed'],
  ['opencode/local ai-sdk-openai-compatible/3.0.92 runtime/bun/1.3.5', 'opencode'],
  ['Kilo-Code/5.2.1', 'Kilo Code'],
  ['kimi-code-cli/0.29.1', 'Kimi Code'],
  ['pi/1.6.0 (linux; node/v26.10.0; x64)', 'pi'],
  ['GitHubCopilotCLI/1.0.66', 'GitHub Copilot CLI'],
  ['copilot/1.0.66 (linux v24.11.0) OpenAI/JS 5.20.1', 'GitHub Copilot CLI'],
  ['GitHubCopilotChat/0.33.1', 'GitHub Copilot'],
  ['promptfoo/0.120.4', 'promptfoo'],
  ['Agents/JavaScript 0.3.4', 'OpenAI Agents SDK'],
  ['Agents/Python 0.6.1', 'OpenAI Agents SDK'],
  ['ai/7.0.173 ai-sdk/provider-utils/5.0.9 runtime/node.js/26', 'AI SDK'],
  ['ai-sdk-openai-compatible/3.0.92', 'AI SDK'],
  ['ai-sdk/openai-compatible/3.0.92 ai-sdk/provider-utils/5.0.9 runtime/node.js/26', 'AI SDK'],
  ['OpenAI/Python 1.99.1', 'OpenAI SDK (Python)'],
  ['AsyncOpenAI/Python 1.99.1', 'OpenAI SDK (Python)'],
  ['OpenAI/JS 7.55.0', 'OpenAI SDK (JavaScript)'],
  ['ls/JS 5.23.2', 'OpenAI SDK (JavaScript)'],
  ['OpenAI/Go 3.8.1', 'OpenAI SDK (Go)'],
  ['OpenAI/2.7.0 (.NET 9.0.1; Ubuntu 24.04)', 'OpenAI SDK'],
  ['curl/8.5.0', 'curl'],
  ['python-requests/2.32.5', 'Python Requests'],
  ['python-httpx/0.28.1', 'HTTPX'],
  ['Python/3.13 aiohttp/3.13.2', 'aiohttp'],
  ['axios/1.13.2', 'axios'],
  ['node', 'Node.js'],
  ['undici', 'Node.js'],
  ['Go-http-client/2.0', 'Go'],
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
    null,
  ],
  ['my own node ai bot', null],
  ['', null],
  ['////', null],
];

test('a request without URL and title has its User-Agent as app, the agent before its libraries', () => {
  for (const [userAgent, name] of userAgents)
    assert.equal(app(null, null, userAgent)?.name ?? null, name, userAgent);
});

test('an agent that sends its URL is the same app as one that is known by its User-Agent', () => {
  assert.equal(
    app('Qwen Code', 'https://github.com/QwenLM/qwen-code.git')?.id,
    app(null, null, 'QwenCode/0.24.4 (linux; x64)')?.id,
  );
  assert.equal(app(null, 'https://opencode.ai/')?.id, app(null, null, 'opencode/1.0')?.id);
  assert.equal(app(null, 'https://www.continue.dev/')?.url, 'https://www.continue.dev');
});

test('earlier requests change nothing', () => {
  const cuts = [0, 1, 2, 3].map((at) =>
    output('abc'.slice(0, at), `${'abc'.slice(at)}https://x.example`, 'curl/8'),
  );
  assert.deepEqual(cuts, [
    ['curl', 'https://curl.se'],
    ['a', null],
    ['ab', null],
    ['abc', 'https://x.example'],
  ]);
  const first = app('first');
  for (let n = 0; n < 3_000; n += 1) assert.equal(app(`title ${n}`)?.name, `title ${n}`);
  assert.deepEqual(app('first'), first);
});

test('for any headers an app is small, printable, a safe link, and the same each time', () => {
  const unit = constantFrom('grapheme', 'binary', 'grapheme-ascii');
  const text = unit.chain((kind) => string({ unit: kind, maxLength: 300 }));
  const piece = constantFrom(
    'https://',
    'http:',
    'javascript:',
    '/',
    '\\',
    '@',
    '%',
    '..',
    ':',
    '?',
    '\u{0}',
    '가',
    '.git',
  );
  const address = array(oneof(piece, text), { maxLength: 8 }).map((parts) => parts.join(''));
  const header = option(oneof(text, address));
  check(
    property(record({ title: header, referer: header, userAgent: header }), (origin) => {
      const found = resolveApp(origin);
      assert.deepEqual(resolveApp(origin), found);
      if (found === null) return;
      assert.ok(Number.isSafeInteger(found.id) && found.id > 0 && found.id < 2 ** 48);
      assert.ok(found.name.length > 0 && found.name.length <= 100, found.name);
      assert.ok(found.name.isWellFormed());
      assert.doesNotMatch(found.name, /[\p{Cc}\u{2028}\u{202e}]|^\s|\s$/u);
      if (found.url === null) return;
      assert.ok(found.url.length <= 200 && URL.canParse(found.url));
      assert.match(found.url, /^https?:\/\/[^\s@]/);
      assert.equal(webAddress(found.url), found.url, 'an address names itself');
    }),
    { numRuns: 2_000 },
  );
});
