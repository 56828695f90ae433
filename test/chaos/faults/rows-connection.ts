/**
 * Connections that are refused, closed or reset, invalid heads, and responses that arrive too
 * early.
 */
import { both, type Fault, type FaultClass, failed, responds, streamed } from './fault.ts';
import {
  after,
  closedOrReset,
  fin,
  forever,
  hang,
  head,
  jsonResponse,
  ordinary,
  payload,
  response,
  sends,
  sendsAndCloses,
  story,
  streamHead,
} from './payloads.ts';
import type { Act, Wire } from './wire.ts';

const whole = jsonResponse();
const wholeHead = head(200, 'content-type: application/json', 'content-length: 500');
const slice = (from: number, to: number): Buffer => whole.subarray(from, to);
const connecting: FaultClass = {
  name: 'connection refused, closed, reset',
  faults: [
    { name: 'refused', on: 'never', act: () => {}, ...both(failed(null)) },
    ...closedOrReset('before the request', (end) => end, { on: 'accept', ...both(failed(null)) }),
    ...closedOrReset('before the head', (end) => end, both(failed(null))),
    ...closedOrReset('inside the status line', (end) => after(['HTTP/1.1 20'], end), both(failed(null))),
    ...closedOrReset('inside the headers', (end) => after([slice(0, 40)], end), both(failed(null))),
    ...closedOrReset('after the headers', (end) => after([wholeHead], end), both(failed(200))),
    ...closedOrReset('after the headers of a stream', (end) => after([streamHead], end), both(failed(200))),
    ...closedOrReset(
      'inside the body',
      (end) => after([wholeHead, '{"choices":[{"mess'], end),
      both(failed(200)),
    ),
    ...closedOrReset('one byte short', (end) => after([slice(0, whole.length - 1)], end), both(failed(200))),
    {
      name: 'a close is the end of a response without length',
      act: sendsAndCloses(head(200, 'content-type: application/json'), JSON.stringify(payload())),
      ...both(responds()),
    },
    { name: 'a response, then FIN', act: after([whole], fin), ...both(responds()) },
    {
      name: 'a response, then RST',
      act: after([whole], (wire) => wire.wait(20).then(() => wire.rst())),
      ...both(responds()),
    },
    {
      name: 'an idle connection closed under the next request',
      act: closesWhenReused(),
      ...both(responds()),
    },
  ],
};

/**
 * Responds, and closes the idle connection a little later, so that a next request may hit the
 * close.
 */
function closesWhenReused(): Act {
  return async (wire) => {
    await ordinary(wire);
    await wire.wait(3);
    wire.fin();
  };
}

const versions: FaultClass = {
  name: 'status line, versions, 1xx',
  faults: [
    ...Object.entries({
      garbage: '\u0000\u0001garbage\r\n\r\n',
      'an SSH banner': 'SSH-2.0-OpenSSH_9.9\r\n',
      'TLS instead': Buffer.from('1603010200010001fc0303', 'hex'),
      'HTTP/0.9': JSON.stringify(payload()),
      'HTTP/2 frames': Buffer.from('000012040000000000000300000064', 'hex'),
      'status abc': head('abc'),
      'status 2000': head('2000'),
      'status 20': head('20'),
      'no status': 'HTTP/1.1\r\n\r\n',
      'version 9.9': 'HTTP/9.9 200 OK\r\ncontent-length: 0\r\n\r\n',
      'blank lines only': '\r\n\r\n\r\n\r\n',
    }).map(([name, bytes]): Fault => ({ name, act: sendsAndCloses(bytes), ...both(failed(null)) })),
    {
      name: 'HTTP/1.0 with a length',
      act: sendsAndCloses(whole.toString().replace('HTTP/1.1', 'HTTP/1.0')),
      ...both(responds()),
    },
    {
      name: 'HTTP/1.0 until the close',
      act: sendsAndCloses('HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n', story()),
      ...streamed(responds()),
    },
    { name: 'no reason phrase', act: sends(whole.toString().replace('200 X', '200')), ...both(responds()) },
    // Nothing was asked that a 100 answers: undici rejects it (docs/decisions/stale-connections.md).
    { name: '100 first', act: sends(head(100), whole), ...both(failed(null)) },
    ...[102, 103].map(
      (status): Fault => ({
        name: `${status} first`,
        act: sends(head(status, 'link: </a>; rel=preload'), whole),
        ...both(responds()),
      }),
    ),
    { name: '50 times 103 first', act: sends(head(103).repeat(50), whole), ...both(responds()) },
    { name: '103 for ever', act: forever(head(103), 5), takes: 'firstByte', ...both(failed('timeout')) },
    {
      name: '101 switching',
      act: after([head(101, 'upgrade: websocket', 'connection: upgrade'), 'words'], hang),
      ...both(failed(null)),
    },
    {
      name: '101 without an upgrade',
      act: after([head(101)], hang),
      ...both(failed(null)),
    },
  ],
};

const early: FaultClass = {
  name: 'response before the request was read',
  faults: [
    ...(['kept', 'FIN', 'RST later'] as const).flatMap((end): readonly Fault[] => {
      const then = async (wire: Wire): Promise<void> => {
        if (end === 'FIN') wire.fin();
        if (end === 'RST later') await wire.wait(30).then(() => wire.rst());
      };
      const row = { on: 'head', heavy: true, request: { messages: imageMessages() } } as const;
      return [
        { ...row, name: `200, ${end}`, act: after([whole], then), ...both(responds()) },
        {
          ...row,
          name: `413, ${end}`,
          act: after([response('{"error":"large"}', 413)], then),
          ...both(failed(413)),
        },
      ];
    }),
    {
      name: '400 at the connection',
      on: 'accept',
      act: after([response('{}', 400)], fin),
      ...both(failed(400)),
    },
  ],
};

/** A question that arrives in many pieces. */
function imageMessages(): readonly object[] {
  const url = `data:image/png;base64,${'A'.repeat(1024 * 1024)}`;
  return [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }];
}

export const connectionClasses: readonly FaultClass[] = [connecting, versions, early];
