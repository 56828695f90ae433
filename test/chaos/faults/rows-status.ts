/** Statuses, Retry-After and redirects. */
import { both, type Fault, type FaultClass, failed, responds } from './fault.ts';
import {
  framed,
  hang,
  head,
  jsonResponse,
  lastChunk,
  replies,
  response,
  sends,
  sendsAndCloses,
  story,
  streamHead,
} from './payloads.ts';
import type { Act } from './wire.ts';

const named = [
  400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422,
  423, 424, 425, 426, 428, 431, 451, 499, 500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511, 520, 521,
  522, 523, 524, 525, 529, 530, 598, 599,
];
/** Error bodies, in turn. */
const errorBodies: readonly (readonly [string, (status: number) => Act])[] = [
  ['JSON', (status) => sends(response(JSON.stringify({ error: { message: 'no', code: status } }), status))],
  ['HTML', (status) => sends(response('<html>Bad</html>', status, 'content-type: text/html'))],
  ['nothing', (status) => sends(response('', status))],
  ['a perfect response', (status) => sends(jsonResponse().toString().replace('200 X', `${status} X`))],
  [
    'a perfect stream',
    (status) => sends(streamHead.replace('200 X', `${status} X`), framed(story()), lastChunk),
  ],
  ['a cut body', (status) => sendsAndCloses(head(status, 'content-length: 90'), '{"error":')],
  ['400 kB', (status) => sends(response('x'.repeat(400_000), status))],
];

const statuses: FaultClass = {
  name: 'every 4xx and 5xx',
  faults: named.map((status, at): Fault => {
    const [what, act] = errorBodies[at % errorBodies.length] ?? errorBodies[0] ?? ['', () => hang];
    return { name: `${status} with ${what}`, act: act(status), ...both(failed(status)) };
  }),
};

const successes: FaultClass = {
  name: 'other 2xx',
  faults: [
    ...[201, 202, 203, 206, 299].map(
      (status): Fault => ({
        name: `${status} with a response`,
        act: sends(jsonResponse().toString().replace('200 X', `${status} X`)),
        ...both(responds()),
      }),
    ),
    { name: '204', act: sends(head(204)), ...both(failed(204)) },
    { name: '205 without a body', act: sends(head(205, 'content-length: 0')), ...both(failed(205)) },
  ],
};

const tooMany: FaultClass = {
  name: '429 and Retry-After',
  faults: Object.entries({
    'no Retry-After': [],
    seconds: ['retry-after: 7'],
    zero: ['retry-after: 0'],
    'a date': ['retry-after: Sat, 21 Nov 2026 13:00:00 GMT'],
    'a date long ago': ['retry-after: Thu, 01 Jan 1970 00:00:00 GMT'],
    absurd: ['retry-after: 99999999999999999999'],
    negative: ['retry-after: -1'],
    words: ['retry-after: soon'],
    twice: ['retry-after: 1', 'retry-after: 2'],
    milliseconds: ['retry-after-ms: 100', 'x-ratelimit-reset: 1'],
  }).map(
    ([name, lines]): Fault => ({
      name,
      act: sends(response('{"error":{"message":"slow down"}}', 429, ...lines)),
      ...both(failed(429)),
      look: (seen) => {
        if (seen.status !== 200 && seen.headers.get('retry-after') !== null)
          throw new Error('its Retry-After came through');
      },
    }),
  ),
};

/** `trap` is a listener that must never get a connection. */
function redirects(trap: string): FaultClass {
  return {
    name: 'redirects',
    faults: [
      ...[300, 301, 302, 303, 304, 305, 307, 308].map(
        (status): Fault => ({
          name: String(status),
          act: sends(head(status, `location: ${trap}`, ...(status === 304 ? [] : ['content-length: 0']))),
          ...both(failed(status)),
        }),
      ),
      {
        name: '307 to itself',
        act: sends(head(307, 'location: /a/v1/chat/completions', 'content-length: 0')),
        ...both(failed(307)),
      },
      {
        name: '302 with a response',
        act: sends(jsonResponse().toString().replace('200 X', `302 X\r\nlocation: ${trap}`)),
        ...both(failed(302)),
      },
      {
        name: '200 that refreshes',
        act: replies(
          `<meta http-equiv="refresh" content="0;url=${trap}">`,
          'content-type: text/html',
          `refresh: 0;url=${trap}`,
          `location: ${trap}`,
        ),
        ...both(failed(200)),
      },
    ],
  };
}

/** `trap` is the address of a listener that must never get a connection. */
export function statusClasses(trap: string): readonly FaultClass[] {
  return [statuses, successes, tooMany, redirects(trap)];
}
