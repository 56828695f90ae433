/** Client or upstream text forges no log line and moves no cursor. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createLog } from '../../src/log/log.ts';
import { openLogFile } from '../../src/log/log-file.ts';
import { providerKey, startTestGateway } from '../harness/gateway.ts';
import { rawly } from '../harness/raw-client.ts';
import { reply, startUpstream } from '../harness/upstream.ts';

/** Control characters of both halves, and the two that some readers take for the end of a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const unprintable = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]/;
const forged = 'x\n{"level":"error","event":"forged"}\r\n\x1b[2J\x1b]0;title\x07\x9b31m\u2028\u2029\x7f\0';

// security:24
test('a log line is one line, whatever its fields contain', () => {
  const lines: string[] = [];
  const log = createLog(
    (line) => lines.push(line),
    'debug',
    () => 0,
  );
  log.error(forged, { [forged]: forged, path: forged });
  assert.equal(lines.length, 1);
  const [line = ''] = lines;
  assert.equal(line.indexOf('\n'), line.length - 1);
  assert.doesNotMatch(line, unprintable);
  const { path, event } = JSON.parse(line);
  assert.deepEqual([path, event], [forged, forged], 'nothing is lost');
});

function logFile(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'naru-log-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const printed: string[] = [];
  const file = openLogFile(dir, (line) => printed.push(line));
  t.after(() => file.close());
  return { logged: printed, file, path: join(dir, 'naru.log') };
}

// security:24
test('terminal output contains no escape sequence', (t) => {
  const { logged, file, path } = logFile(t);
  const log = createLog(file.sink, 'debug', () => 0);
  log.warn('upstream.failed', { detail: `bad ${forged}`, [`na\x1b[1mme`]: '\x1b[31m\x9bm red' });
  assert.equal(logged.length, 1);
  assert.doesNotMatch(logged.join(''), /[\n\r]/);
  assert.doesNotMatch(logged.join(''), unprintable);
  assert.match(logged.join(''), /red/);
  assert.equal(readFileSync(path, 'utf8').split('\n').length, 2);
});

// security:23
test('no log line or record has a prompt, a response, a key or a client header', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const secretResponse = 'ANSWER-f3a9';
  const naru = await startTestGateway({ models: [{ id: 'test/echo', upstreams: [upstream.url] }] });
  t.after(() => naru.close());
  const account = await naru.account();
  const marks = {
    prompt: 'PROMPT-9d1c',
    tool: 'TOOL-771b',
    header: 'HEADER-55e0',
    agent: 'AGENT-1f2e',
    query: 'QUERY-88aa',
    response: secretResponse,
    blame: 'BLAME-3c4d',
  };
  const body = (stream: boolean) => ({
    model: 'test/echo',
    stream,
    messages: [{ role: 'user', content: marks.prompt }],
    tools: [{ type: 'function', function: { name: marks.tool, parameters: {} } }],
  });
  const headers = { 'x-mine': marks.header, 'user-agent': marks.agent, cookie: `a=${marks.header}` };
  const send = (stream: boolean, key = account.key) =>
    naru.send('POST', `/chat/completions?q=${marks.query}`, { key, headers, body: body(stream) });
  upstream.always(reply.chat(secretResponse));
  for (const stream of [false, true]) assert.equal((await send(stream)).status, 200);
  upstream.always(reply.status(500, { error: { message: `${marks.blame} you sent ${providerKey}` } }));
  const failed = await send(false);
  assert.equal(failed.status, 502);
  assert.equal((await send(false, `sk-naru-v1-${'a'.repeat(64)}`)).status, 401);
  await rawly(
    naru.gateway.server.port,
    `GET /api/v1/keys/${account.key} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n\r\n`,
  );
  await naru.settled();
  const logged = naru.logged.map((line) => JSON.stringify(line)).join('\n');
  assert.match(logged, /"route":"\/api\/v1\/chat\/completions"/, 'the guard sees lines');
  const rows = await naru.database.query<{ row: string }>(
    'SELECT to_jsonb(generation)::text AS row FROM generation',
  );
  assert.ok(rows.length >= 3);
  const kept = rows.map(({ row }) => row).join('\n');
  for (const [name, mark] of Object.entries({ ...marks, key: account.key, provider: providerKey })) {
    // An upstream's reason for a rejection is for the operator.
    if (name !== 'blame') assert.ok(!logged.includes(mark), `the log has the ${name}`);
    // The client's program and what an upstream said of its failure are part of a record
    // (spec:api/17.2, 16.8).
    if (name !== 'agent' && name !== 'blame') assert.ok(!kept.includes(mark), `a record has the ${name}`);
    assert.ok(!failed.text.includes(mark), `an error has the ${name}`);
  }
});
