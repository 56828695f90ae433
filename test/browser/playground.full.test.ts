/**
 * The playground against a real gateway and a scripted upstream: what is shown is what is billed.
 * Edited messages, images, other tabs and phones are of the full tier: other tests here send messages,
 * `test/api` checks their content, and `test/browser/pages.full.test.ts` opens pages on a phone. So is the
 * cost of a whole response: `test/browser/journeys.test.ts` compares it with the ledger, and a stopped
 * one here with the usage of the account.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startTestGateway, type TestAccount, type TestGateway } from '../harness/gateway.ts';
import { PageBrowser, TestSessions } from '../harness/pages.ts';
import { fullOnly, sample } from '../harness/tier.ts';
import { gate, piece, reply, startUpstream, type Upstream } from '../harness/upstream.ts';
import type { Piece } from '../harness/upstream-openai.ts';
import { startBrowser, type TestBrowser, themes, type View, type ViewOptions } from './browser.ts';

const execute = promisify(execFile);
const sessions = new TestSessions();
/** A red pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);
let upstream: Upstream;
let gateway: TestGateway;
let browser: TestBrowser;
let origin = '';

before(async () => {
  upstream = await startUpstream();
  [gateway, browser] = await Promise.all([
    startTestGateway({
      sessions,
      models: [
        { id: 'test/model', upstreams: [upstream.url] },
        { id: 'test/eyes', upstreams: [upstream.url], model: { input_modalities: ['text', 'image'] } },
      ],
    }),
    startBrowser(),
  ]);
  origin = await browser.reach('dashboard', gateway.origin);
});
after(async () => {
  await browser?.close();
  await gateway?.close();
  await upstream?.close();
});

interface Signed extends View {
  readonly account: TestAccount;
  readonly api: PageBrowser;
  /** Writes a message and sends it. */
  send(text: string): Promise<void>;
  /** The message with this number, from 1. */
  message(number: number): ReturnType<View['page']['locator']>;
}

/** The playground of a new account, or of one that has a session. */
async function open(
  options: ViewOptions & { readonly account?: TestAccount; readonly search?: string } = {},
): Promise<Signed> {
  const account = options.account ?? (await gateway.account());
  const token = sessions.owner(account.accountId);
  const view = await browser.open(origin, options);
  await view.context.addCookies([{ name: 'naru_session', value: token, url: `${origin}/dashboard` }]);
  await view.page.goto(`/dashboard/playground${options.search ?? ''}`);
  const box = view.page.getByRole('textbox', { name: options.language === 'en' ? 'Message' : '메시지' });
  await box.waitFor();
  return {
    ...view,
    account,
    api: new PageBrowser(gateway.origin, 'dashboard', token),
    send: async (text) => {
      await box.fill(text);
      await box.press('Enter');
    },
    message: (number) =>
      view.page
        .getByRole('list', { name: '대화' })
        .locator(':scope > li')
        .nth(number - 1),
  };
}

/** The exact amount that a message shows, in micro-won. */
async function costOf(message: ReturnType<Signed['message']>): Promise<bigint> {
  return BigInt((await message.locator('data').getAttribute('value')) ?? '');
}

async function usedMicro(api: PageBrowser): Promise<bigint> {
  await gateway.settled();
  return BigInt((await api.get('/account')).total_usage_micro);
}

// pages:U11
test(
  'a message gets a response; the displayed cost is in the ledger, on its page and in its key',
  fullOnly,
  async () => {
    const { page, api, send, message, axe, assertClean, close } = await open({ search: '?with=test/model' });
    const held = gate();
    upstream.next(reply.chat(['Hello ', 'from ', held, 'upstream.']));
    await send('hello');
    await held.reached;
    await message(2).getByText('예상', { exact: true }).waitFor();
    await message(2).getByText('Hello from').waitFor();
    held.open();
    await message(2).getByText('입력 10 · 출력 5토큰').waitFor();
    await message(2).getByText('Upstream 1').waitFor();
    const cost = await costOf(message(2));
    // 10 prompt tokens at 1 won and 5 of completion at 2.
    assert.equal(cost, 20_000_000n);
    assert.equal(await usedMicro(api), cost);
    const { items } = await api.get('/keys?kind=inference');
    const key = items.find((one: { name: string }) => one.name === '플레이그라운드');
    assert.equal(key.usage_total_micro, String(cost));
    assert.equal(key.limit_micro, '10000000000');
    assert.equal(key.limit_reset, 'monthly');
    assert.deepEqual(await axe(), []);
    await message(2).getByRole('link', { name: '요청 기록 보기' }).click();
    const sum = page.locator('tfoot data');
    await sum.waitFor();
    assert.equal(await sum.getAttribute('value'), String(cost));
    await page.goBack();
    await message(2).getByText('Hello from upstream.').waitFor();
    assertClean();
    await close();
  },
);

// pages:U11
test('stop aborts the request at the upstream, and what was generated is billed and shown', async () => {
  const { page, api, send, message, assertClean, close } = await open();
  const held = gate();
  upstream.next(reply.chat(['One ', 'two ', 'three ', held, 'four']));
  await send('count');
  await held.reached;
  await message(2).getByText('One two three').waitFor();
  const received = upstream.requests.at(-1);
  await page.getByRole('button', { name: '중지' }).click();
  assert.ok(((await received?.aborted) ?? 0) > 0);
  await message(2).getByText('중지했습니다').waitFor();
  await message(2).locator('data').waitFor();
  const cost = await costOf(message(2));
  assert.ok(cost > 0n);
  assert.equal(await usedMicro(api), cost);
  held.open();
  await message(2).getByText('One two three').waitFor();
  assert.equal(await message(2).getByText('four').count(), 0);
  assertClean();
  await close();
});

// pages:U11
test('nothing in a response or in the text of an error becomes markup or runs', async () => {
  const { page, send, message, faults, close } = await open();
  const attack =
    '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script> [x](javascript:alert(1))';
  upstream.next(reply.chat([{ reasoning: attack }, attack, '\n```html\n', attack, '\n```\n', 'end']));
  await send(attack);
  await message(2).locator('pre').waitFor();
  await message(2).getByText('입력 10').waitFor();
  for (const number of [1, 2])
    assert.equal(await message(number).locator('img, script, a[href^="javascript"]').count(), 0);
  assert.equal(await message(2).locator('pre').textContent(), attack);
  assert.equal(((await message(2).textContent()) ?? '').includes('<img src=x'), true);
  upstream.next(reply.status(400, { error: { message: attack, type: 'x', code: '400' } }));
  await send(attack);
  const alert = message(4).getByRole('alert');
  await alert.waitFor();
  assert.match((await alert.textContent()) ?? '', /502 provider_error/);
  assert.equal(await alert.locator('img, script').count(), 0);
  assert.equal(await page.title(), '플레이그라운드 · 나루');
  // The browser itself reports the 502.
  assert.deepEqual(
    faults.filter((fault) => !fault.includes('/api/v1/chat/completions')),
    [],
  );
  await close();
});

/** Markdown of at least `length` characters, as models write it. */
function essay(length: number): string {
  const part = [
    '## 나루와 물길',
    '나루는 **강을 건너는 곳**입니다. `ferry`와 [사전](https://example.com/naru)을 보세요.',
    '1. 첫째 항목은 조금 길게 씁니다.\n2. 둘째 항목\n   - 안쪽 항목',
    '```ts\nfor (const boat of boats) {\n  await boat.cross(river);\n}\n```',
    '| 나루 | 강 |\n|---|---:|\n| 노들 | 한강 |',
    '> 물이 깊어야 배가 뜬다.',
  ].join('\n\n');
  return `${part}\n\n`.repeat(Math.ceil(length / part.length));
}

/** The answer in pieces of some tokens, a few thousand of them, at the pace of a fast model. */
function fastAnswer(text: string, ...end: readonly Piece[]) {
  return reply.stream([...(text.match(/.{1,6}/gsu) ?? []), ...end]).drip(700, 3);
}

// pages:U11
test('an answer costs the renderer in proportion to its length, and Stop a small part of it', async (t) => {
  const { page, context, send, message, assertClean, close } = await open();
  const debuggerOf = await context.newCDPSession(page);
  // In processor time, so that a busy machine does not change it.
  await debuggerOf.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busySec = async (): Promise<number> => {
    const { metrics } = await debuggerOf.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
  };
  const costOf = async (length: number, answer: number): Promise<number> => {
    const text = essay(length);
    const before = await busySec();
    upstream.next(fastAnswer(text));
    await send('long');
    await message(answer).getByText('입력 10').waitFor();
    assert.equal(await message(answer).locator('h2').count(), text.split('## ').length - 1);
    return (await busySec()) - before;
  };
  const short = await costOf(5_000, 2);
  const long = await costOf(20_000, 4);
  t.diagnostic(`renderer: ${short.toFixed(2)} s for 5,000 characters, ${long.toFixed(2)} s for 20,000`);
  assert.ok(long <= 8 * short, `${long} s, and ${short} s for a quarter of the length`);

  // Near the end of an answer as long.
  const held = gate();
  upstream.next(fastAnswer(essay(20_000), held, 'end'));
  await send('again');
  await message(6).locator('h2').nth(60).waitFor();
  const before = await busySec();
  await page.getByRole('button', { name: '중지' }).click();
  await message(6).getByText('중지했습니다').waitFor();
  const stop = (await busySec()) - before;
  t.diagnostic(`Stop: ${(stop * 1000).toFixed(0)} ms`);
  assert.ok(stop <= long / 4, `${stop} s, and ${long} s for the whole answer`);
  held.open();
  assertClean();
  await close();
});

// pages:U11
test('an answer is shown as Markdown, and nothing of it loads or runs', fullOnly, async () => {
  for (const theme of themes) {
    const { send, message, axe, assertClean, close } = await open({ theme });
    const parts = [
      '# Title\n\nSome **bold**, `code` &lt;tag&gt; and ~~old~~\nnext line ',
      '![picture](https://evil.example/x.png) [site](https://example.com/a?b=c) <b>html</b>\n\n',
      '- [x] done\n- [ ] open\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nprint(1)\n```\n',
      `\n${'>'.repeat(3000)} deep\n`,
    ];
    upstream.next(reply.stream(parts));
    await send('markdown');
    await message(2).getByText('입력 10').waitFor();
    const answer = message(2);
    await answer.getByRole('heading', { name: 'Title' }).waitFor();
    assert.equal(await answer.locator('strong', { hasText: 'bold' }).count(), 1);
    assert.equal(await answer.locator('del').count(), 1);
    assert.match((await answer.textContent()) ?? '', /<tag>.*<b>html<\/b>/s);
    assert.equal(await answer.locator('img, b').count(), 0);
    const links = answer.locator('a[target=_blank]');
    assert.deepEqual(await Promise.all((await links.all()).map((link) => link.getAttribute('href'))), [
      'https://evil.example/x.png',
      'https://example.com/a?b=c',
    ]);
    assert.equal(await links.first().getAttribute('rel'), 'noopener noreferrer nofollow');
    assert.equal(await answer.getByRole('listitem').count(), 2);
    assert.equal(await answer.getByRole('row').count(), 2);
    assert.equal(await answer.getByRole('region', { name: /\(py\)/ }).textContent(), 'print(1)');
    assert.deepEqual(await axe(), []);
    assertClean();
    await close();
  }
});

// pages:U11
test('a conversation is kept over a reload, also in the middle of an answer, and ends with the session', async () => {
  const { page, send, message, close } = await open();
  await send('one');
  await message(2).getByText('입력 10').waitFor();
  const held = gate();
  upstream.next(reply.chat(['half ', 'of it ', held, 'rest']));
  await send('two');
  await held.reached;
  await message(4).getByText('half of it').waitFor();
  await page.reload();
  await message(2).getByText('Hello from upstream.').waitFor();
  await message(4).getByText('half of it').waitFor();
  await message(4).getByText('중지했습니다').waitFor();
  await message(4).locator('data').waitFor();
  held.open();
  await send('three');
  await message(6).getByText('입력 10').waitFor();
  const sent = (upstream.requests.at(-1)?.body['messages'] ?? []) as { content: string }[];
  assert.deepEqual(
    sent.map(({ content }) => content.trim()),
    ['one', 'Hello from upstream.', 'two', 'half of it', 'three'],
  );
  assert.match(await page.evaluate<string>('Object.keys(sessionStorage).join()'), /naru\.conversation/);
  await page.getByRole('button', { name: '내 계정' }).click();
  await page.getByRole('menuitem', { name: '로그아웃' }).click();
  await page.waitForURL(/\/dashboard\/sign-in/);
  assert.doesNotMatch(await page.evaluate<string>('Object.keys(sessionStorage).join()'), /naru\./);
  await close();
});

// pages:U11,U3d
test('a failed answer says why in the language of the page, quotes the upstream, and leads to its request', async () => {
  for (const language of ['ko', 'en'] as const) {
    const { page, account, send, close } = await open({ language });
    const said = 'The model is overloaded at http://10.1.2.3:8000, key sk-abcdefghijklmnop';
    upstream.next(reply.status(503, { error: { message: said, type: 'x', code: '503' } }));
    await send('fail');
    const alert = page.getByRole('alert');
    await alert.getByText('The model is overloaded at [url], key [redacted]').waitFor();
    const words = (await alert.textContent()) ?? '';
    assert.match(
      words,
      language === 'ko' ? /호출한 후보가 모두 실패/ : /every candidate that was called failed/,
    );
    assert.match(words, language === 'ko' ? /503 · 오류로 응답했습니다/ : /503 · responded with an error/);
    await page.getByRole('link', { name: language === 'ko' ? '요청 기록 보기' : 'View request' }).click();
    await page.getByText('The model is overloaded at [url], key [redacted]').first().waitFor();
    // A request that no candidate could take says what it lacked.
    const { headers } = await gateway.send('POST', '/chat/completions', {
      key: account.key,
      body: { model: 'test/model', messages: [{ role: 'user', content: 'x' }], provider: { only: ['no'] } },
    });
    await page.goto(`/dashboard/requests/${headers.get('x-service-request-id')}`);
    await page
      .getByText(
        language === 'ko'
          ? '제외 사유: provider.only에 없습니다.'
          : 'Excluded: provider.only does not name it.',
      )
      .waitFor();
    assert.equal(await page.getByText(/설정 파일의 순서|order of the configuration/).count(), 0);
    await close();
  }
});

// pages:U11
test('a tool call is shown, its result is sent, and reasoning is folded', async () => {
  const { page, send, message, assertClean, close } = await open();
  assert.equal(await page.getByRole('button', { name: '이미지 추가' }).count(), 0, 'the model takes none');
  await page.getByRole('button', { name: '예시 추가' }).click();
  await page.getByLabel('온도').fill('3');
  await page.getByText('0 이상 2 이하로 입력해 주세요.').waitFor();
  assert.equal(await page.getByRole('button', { name: '보내기' }).isDisabled(), true);
  await page.getByLabel('온도').fill('0.5');
  upstream.next(
    reply.chat([
      { reasoning: 'I need the weather.' },
      ...piece.tool(0, 'get_weather', '{"city":', '"Seoul"}'),
    ]),
  );
  await send('weather?');
  await message(2).getByText('get_weather').first().waitFor();
  await message(2).getByText('"city": "Seoul"').waitFor();
  await message(2).getByText('I need the weather.').waitFor();
  const sent = upstream.requests.at(-1)?.body ?? {};
  assert.equal(sent['temperature'], 0.5);
  assert.equal((sent['tools'] as { function: { name: string } }[])[0]?.function.name, 'get_weather');
  upstream.next(reply.chat('Sunny.'));
  await message(2).getByLabel('get_weather의 결과').fill('{"sky":"clear"}');
  await message(2).getByRole('button', { name: '결과 보내기' }).click();
  await message(4).getByText('Sunny.').waitFor();
  const messages = (upstream.requests.at(-1)?.body['messages'] ?? []) as Record<string, unknown>[];
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'tool'],
  );
  assert.equal(messages[2]?.['content'], '{"sky":"clear"}');
  assertClean();
  await close();
});

// pages:U11
test('messages are edited, deleted and sent again, also with an image', fullOnly, async () => {
  const { page, send, message, assertClean, close } = await open({ search: '?with=test/eyes' });
  const written = page.getByRole('combobox', { name: '작성할 역할' });
  await written.selectOption('system');
  await send('Be brief.');
  await message(1).getByText('Be brief.').waitFor();
  const files = page.locator('input[type=file]');
  await files.setInputFiles({ name: 'large.png', mimeType: 'image/png', buffer: Buffer.alloc(4_000_001) });
  await page.getByText(/최대 4 MB/).waitFor();
  await files.setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: png });
  await page.getByAltText('dot.png').waitFor();
  await send('what is this?');
  await message(3).getByText('입력 10').waitFor();
  const sent = () => (upstream.requests.at(-1)?.body['messages'] ?? []) as { content: unknown }[];
  assert.equal(sent()[0]?.content, 'Be brief.');
  assert.deepEqual(sent()[1]?.content, [
    { type: 'text', text: 'what is this?' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}` } },
  ]);
  await message(1).getByRole('button', { name: /수정/ }).click();
  await page.getByRole('textbox', { name: /수정/ }).fill('Be long.');
  await page.getByRole('button', { name: '저장' }).click();
  upstream.next(reply.chat('Another answer.'));
  await message(3)
    .getByRole('button', { name: /다시 생성/ })
    .click();
  await message(3).getByText('Another answer.').waitFor();
  assert.equal(sent()[0]?.content, 'Be long.');
  await message(3).getByText('입력 10').waitFor();
  await message(3).getByRole('button', { name: /삭제/ }).click();
  await message(3).waitFor({ state: 'detached' });
  assertClean();
  await close();
});

// pages:U11
test('a reload and another tab use one key, and a refusal states what to do', fullOnly, async () => {
  const { page, context, api, send, message, close } = await open();
  const isBilled = (number: number) => message(number).getByText('입력 10').waitFor();
  await send('one');
  await isBilled(2);
  await page.reload();
  await send('two');
  await isBilled(4);
  const other = await context.newPage();
  await other.goto('/dashboard/playground');
  await other.getByRole('textbox', { name: '메시지' }).fill('three');
  await other.getByRole('textbox', { name: '메시지' }).press('Enter');
  await other.getByText('입력 10').waitFor();
  await page.reload();
  await send('four: this tab has the key that the other one replaced');
  await isBilled(6);
  const { items } = await api.get('/keys?kind=inference');
  const own = items.filter((one: { name: string }) => one.name === '플레이그라운드');
  assert.equal(own.length, 1);
  const patched = await api.send('PATCH', `/keys/${own[0].hash}`, { body: { limit_micro: '1' } });
  assert.equal(patched.status, 200);
  await send('five');
  const alert = message(8).getByRole('alert');
  await alert.getByText(/한도에 도달했습니다/).waitFor();
  await alert.getByRole('link', { name: '키 관리' }).waitFor();
  await close();
});

// pages:U11
test('the code that the page shows sends the same request', async () => {
  const { page, account, assertClean, close } = await open();
  await page.getByLabel('온도').fill('0.25');
  await page.getByText('설정 더 보기').click();
  await page.getByLabel('Top K').fill('7');
  await page.getByRole('textbox', { name: '메시지' }).fill('it\'s "quoted"\nand long');
  await page.getByRole('button', { name: '코드 보기' }).click();
  const dialog = page.getByRole('dialog');
  const env = { ...process.env, NARU_API_KEY: account.key };
  const run: Readonly<Record<string, (code: string) => Promise<{ stdout: string }>>> = {
    curl: (code) => execute('bash', ['-c', code], { env }),
    TypeScript: (code) =>
      execute(process.execPath, ['--input-type=module-typescript', '--eval', code], { env }),
  };
  for (const [language, execution] of sample(Object.entries(run), 1)) {
    await dialog.getByRole('button', { name: language }).click();
    const code = (await dialog.getByRole('region', { name: language }).textContent()) ?? '';
    const { stdout } = await execution(code);
    assert.match(stdout, /upstream/, language);
    const { messages, temperature, top_k, stream } = upstream.requests.at(-1)?.body ?? {};
    assert.deepEqual(
      { messages, temperature, top_k, stream },
      {
        messages: [{ role: 'user', content: 'it\'s "quoted"\nand long' }],
        temperature: 0.25,
        top_k: 7,
        stream: true,
      },
      language,
    );
  }
  await dialog.getByRole('button', { name: 'Python' }).click();
  const python = (await dialog.getByRole('region', { name: 'Python' }).textContent()) ?? '';
  assert.match(python, /"role": "user"/);
  assert.match(python, /extra_body=\{\n\s+"top_k": 7/);
  assertClean();
  await close();
});

// pages:U11
test('on a phone everything is reachable, in both themes, and axe finds nothing', fullOnly, async () => {
  for (const theme of themes) {
    const { page, send, axe, assertClean, close } = await open({ theme, width: 390, language: 'en' });
    assert.deepEqual(await axe(), []);
    await page.getByText('Settings and tools').click();
    await page.getByLabel('Max output tokens').fill('50');
    await send('hello');
    await page.getByText('10 in · 5 out tokens').waitFor();
    assert.equal(upstream.requests.at(-1)?.body['max_tokens'], 50);
    assert.deepEqual(await axe(), []);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
    assertClean();
    await close();
  }
});
