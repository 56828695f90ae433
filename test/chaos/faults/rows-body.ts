/** Invalid bodies, framing and headers. */
import { both, type Fault, type FaultClass, failed, responds, streamed } from './fault.ts';
import {
  counted,
  event,
  forever,
  framed,
  head,
  jsonResponse,
  lastChunk,
  payload,
  replies,
  response,
  sends,
  sendsAndCloses,
  story,
} from './payloads.ts';
import type { Act } from './wire.ts';

const text = JSON.stringify(payload());
const nonsense: Readonly<Record<string, string>> = {
  'an error as a string': '{"error":"x"}',
  'error true': '{"error":true}',
  null: 'null',
  'a list': '[]',
  'a number': '7',
  'a string': '"choices"',
  'an empty object': '{}',
  'choices null': '{"choices":null}',
  'choices empty': '{"choices":[]}',
  'choices an object': '{"choices":{"0":{"message":{"content":"x"}}}}',
  'choices of null': '{"choices":[null]}',
  'choices of numbers': '{"choices":[1,2]}',
  'a choice without a message': '{"choices":[{"index":0}]}',
  'a choice with null for a message': '{"choices":[{"index":0,"message":null,"finish_reason":null}]}',
  'usage alone': `{"usage":${JSON.stringify(counted)}}`,
  'a list of models': '{"object":"list","data":[]}',
  HTML: '<!doctype html><title>504</title>',
  nothing: '',
  blanks: '  \n\n ',
  'half of an object': text.slice(0, 90),
  'an object and a half': `${text}{"cho`,
  'two objects': text + text,
  NaN: text.replace('10', 'NaN'),
  'single quotes': "{'choices':[]}",
  '200 closing braces': '}'.repeat(200),
};

const bodies: FaultClass = {
  name: '200 that is no response',
  faults: [
    ...Object.entries(nonsense).map(
      ([name, body]): Fault => ({ name, act: replies(body), ...both(failed(200)) }),
    ),
    {
      name: 'an error with a code',
      act: replies('{"error":{"message":"no","code":503}}'),
      ...both(failed(503)),
    },
    {
      name: 'an error with a code as text, beside choices',
      act: replies(JSON.stringify(payload('x', { error: { code: '429' } }))),
      ...both(failed(429)),
    },
    {
      name: 'an error inside a choice',
      act: replies(
        '{"choices":[{"error":{"code":502,"message":"x"},"finish_reason":"error","message":{"content":""}}]}',
      ),
      ...both(failed(502)),
    },
    {
      name: 'a finish instead of a message',
      act: replies('{"choices":[{"finish_reason":"stop"}]}'),
      ...both(responds('', 'counted', 0)),
    },
    { name: 'a response called HTML', act: replies(text, 'content-type: text/html'), ...both(responds()) },
    {
      name: 'a response without a type',
      act: sends(`HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`),
      ...both(responds()),
    },
    { name: 'a response behind a byte order mark', act: replies(`\ufeff${text}`), ...both(responds()) },
    { name: 'a response between blanks', act: replies(`\n\n  ${text}\r\n`), ...both(responds()) },
    {
      name: 'a stream called JSON',
      act: replies(story(), 'content-type: application/json'),
      ...both(failed(200)),
    },
    {
      name: 'a response called a stream',
      act: replies(text, 'content-type: text/event-stream'),
      ...both(failed(200)),
    },
    {
      name: 'a stream without a word',
      act: replies(event('[DONE]'), 'content-type: text/event-stream'),
      ...both(failed(200)),
    },
    { name: 'an empty stream', act: replies('', 'content-type: text/event-stream'), ...both(failed(200)) },
    {
      name: 'a stream of type TEXT/Event-Stream; charset=UTF-8',
      act: replies(story(), 'Content-Type: TEXT/Event-Stream; charset=UTF-8'),
      ...both(responds()),
    },
  ],
};

const lengthOf = (value: string, body = text): Act =>
  sendsAndCloses(head(200, 'content-type: application/json', `content-length: ${value}`), body);
const chunked = (...pieces: readonly (string | Buffer)[]): Act =>
  sendsAndCloses(head(200, 'content-type: application/json', 'transfer-encoding: chunked'), ...pieces);
const length = String(Buffer.byteLength(text));

const framing: FaultClass = {
  name: 'framing',
  faults: [
    {
      name: 'two lengths that differ',
      act: lengthOf(`${length}\r\ncontent-length: 10`),
      ...both(failed(null)),
    },
    {
      name: 'two lengths, the same',
      act: lengthOf(`${length}\r\ncontent-length: ${length}`),
      ...both(failed(null)),
    },
    { name: 'a list of lengths', act: lengthOf(`${length}, ${length}`), ...both(failed(null)) },
    {
      name: 'a length and chunks',
      act: lengthOf(`${length}\r\ntransfer-encoding: chunked`),
      ...both(failed(null)),
    },
    {
      name: 'chunks and a length',
      act: sendsAndCloses(head(200, 'transfer-encoding: chunked', `content-length: ${length}`), text),
      ...both(failed(null)),
    },
    { name: 'length -1', act: lengthOf('-1'), ...both(failed(null)) },
    { name: 'length abc', act: lengthOf('abc'), ...both(failed(null)) },
    { name: 'length 10^30', act: lengthOf(`1${'0'.repeat(30)}`), ...both(failed(null)) },
    { name: 'length 0', act: lengthOf('0', ''), ...both(failed(200)) },
    { name: 'a body that is short', act: lengthOf('5000'), ...both(failed(200)) },
    {
      name: 'a body that is long',
      act: sends(response(text), 'and more, which was not requested'),
      ...both(responds()),
    },
    {
      name: 'another response behind the first',
      act: sends(Buffer.concat([response(text), jsonResponse('smuggled')])),
      ...both(responds()),
    },
    { name: 'chunk size zz', act: chunked('zz\r\n', text), ...both(failed(200)) },
    { name: 'chunk size -1', act: chunked('-1\r\n', text), ...both(failed(200)) },
    { name: 'chunk size of 20 digits', act: chunked(`${'f'.repeat(20)}\r\n`, text), ...both(failed(200)) },
    {
      name: 'a chunk longer than declared',
      act: chunked(`5\r\n${text}\r\n`, lastChunk),
      ...both(failed(200)),
    },
    {
      name: 'a chunk shorter than declared',
      act: chunked(`fff\r\n${text}\r\n`, lastChunk),
      ...both(failed(200)),
    },
    { name: 'no last chunk', act: chunked(framed(text)), ...both(failed(200)) },
    { name: 'half a last chunk', act: chunked(framed(text), '0\r\n'), ...both(failed(200)) },
    {
      name: 'chunk extensions',
      act: chunked(framed(text).toString().replace('\r\n', ';a=b;c="d"\r\n'), lastChunk),
      ...both(responds()),
    },
    { name: 'trailers', act: chunked(framed(text), '0\r\nx-checksum: 1\r\n\r\n'), ...both(responds()) },
    {
      name: 'chunks of one byte',
      manyTurns: true,
      act: chunked(...[...Buffer.from(text)].map((byte) => framed(Buffer.from([byte]))), lastChunk),
      ...both(responds()),
    },
    {
      name: 'a chunk with an endless extension',
      act: async (wire) => {
        await wire.send(`${head(200, 'content-type: application/json', 'transfer-encoding: chunked')}5;a=`);
        await forever('x'.repeat(16_384), 1)(wire);
      },
      heavy: true,
      takes: 'firstByte',
      ...both(failed('timeout')),
    },
  ],
};

const withLines = (...lines: readonly string[]): Act => sendsAndCloses(response(text, 200, ...lines));
const headers: FaultClass = {
  name: 'headers',
  faults: [
    { name: 'one of 60 kB', act: withLines(`x-large: ${'x'.repeat(60_000)}`), ...both(responds()) },
    { name: 'one of 1 MB', act: withLines(`x-large: ${'x'.repeat(1_000_000)}`), ...both(failed(null)) },
    {
      name: '20,000 of them',
      act: withLines(...Array.from({ length: 20_000 }, (_, n) => `x-${n}: y`)),
      ...both(failed(null)),
    },
    {
      name: 'endless',
      heavy: true,
      act: async (wire) => {
        await wire.send('HTTP/1.1 200 OK\r\n');
        await forever(`x-more: ${'x'.repeat(8_000)}\r\n`)(wire);
      },
      ...both(failed(null)),
    },
    {
      name: 'a 103 of 1 MB',
      act: sendsAndCloses(head(103, `link: ${'x'.repeat(1_000_000)}`), jsonResponse()),
      ...both(failed(null)),
    },
    { name: 'no colon', act: withLines('nonsense'), ...both(failed(null)) },
    { name: 'a blank before the colon', act: withLines('x-a : b'), ...both(failed(null)) },
    { name: 'a folded line', act: withLines('x-a: b\r\n c'), ...both(failed(null)) },
    { name: 'a NUL', act: withLines('x-a: b\0c'), ...both(failed(null)) },
    { name: 'a bare CR', act: withLines('x-a: b\rc'), ...both(failed(null)) },
    {
      name: 'line ends of LF alone',
      act: sendsAndCloses(`HTTP/1.1 200 OK\ncontent-length: ${length}\n\n${text}`),
      ...both(failed(null)),
    },
    { name: 'Latin-1', act: sendsAndCloses(response(text, 200, 'x-a: \u00fc\u00ff')), ...both(responds()) },
    {
      name: 'names of ours',
      act: withLines(
        'x-service-request-id: theirs',
        'x-service-currency: USD',
        'set-cookie: a=b',
        'access-control-allow-origin: evil',
        'retry-after: 9',
        'server: theirs',
      ),
      ...both(responds()),
      look: (seen) => {
        for (const name of ['set-cookie', 'retry-after', 'server'])
          if (seen.headers.get(name) !== null) throw new Error(`${name} came through`);
        if (seen.headers.get('x-service-currency') !== 'KRW') throw new Error('the currency is theirs');
      },
    },
    { name: 'connection: close', act: withLines('connection: close'), ...both(responds()) },
    {
      name: 'keep-alive of a century',
      act: sends(response(text, 200, 'keep-alive: timeout=3155760000')),
      ...both(responds()),
    },
    {
      name: 'the type twice',
      act: sends(
        response(story(), 200, 'content-type: text/event-stream', 'content-type: text/event-stream'),
      ),
      ...streamed(responds()),
    },
  ],
};

export const bodyClasses: readonly FaultClass[] = [bodies, framing, headers];
