/** Event streams in every notation, and their ends. */
import { both, broken, type FaultClass, failed, responds, words } from './fault.ts';
import {
  begins,
  contentChunk,
  counted,
  delta,
  done,
  event,
  forever,
  framed,
  head,
  ordinary,
  replies,
  role,
  sendsAndCloses,
  stop,
  story,
  streamHead,
  streams,
  used,
} from './payloads.ts';
import type { Act } from './wire.ts';

/** As many bytes as the events have that are cut. */
const cuts = 40;
const korean = '나루터에서 배를 탄다 🛶👩‍👩‍👧‍👦 끝';
/** No fault: the matrix itself must find it correct. */
const control: FaultClass = {
  name: 'no fault',
  faults: [{ name: 'an ordinary response', act: ordinary, ...both(responds()) }],
};

const forms: FaultClass = {
  name: 'event streams',
  faults: [
    { name: 'LF', act: streams(story(korean)), ...both(responds(korean)) },
    { name: 'CRLF', act: streams(story(korean).replaceAll('\n', '\r\n')), ...both(responds(korean)) },
    { name: 'CR', act: streams(story(korean).replaceAll('\n', '\r')), ...both(responds(korean)) },
    {
      name: 'line ends mixed',
      act: streams(
        role.replaceAll('\n', '\r'),
        contentChunk().replaceAll('\n', '\r\n'),
        stop + used() + done,
      ),
      ...both(responds()),
    },
    {
      name: 'CRLF cut between CR and LF',
      act: streams(
        ...story()
          .replaceAll('\n', '\r\n')
          .split(/(?<=\r)/),
      ),
      ...both(responds()),
    },
    { name: 'a byte order mark', act: streams(`\ufeff${story()}`), ...both(responds()) },
    {
      name: 'comments',
      act: streams(
        ': PROCESSING\n\n',
        role,
        ':\n',
        contentChunk(),
        ': data: {"a":1}\n\n',
        stop,
        used(),
        done,
      ),
      ...both(responds()),
    },
    {
      name: 'event, id, retry',
      act: streams(story().replaceAll('data: ', 'event: message\nid: 7\nretry: 1\ndata: ')),
      ...both(responds()),
    },
    {
      name: 'data without a blank',
      act: streams(story().replaceAll('data: ', 'data:')),
      ...both(responds()),
    },
    {
      name: 'data over several lines',
      act: streams(story().replaceAll(',"choices"', ',\ndata: "choices"')),
      ...both(responds()),
    },
    {
      name: 'blank lines between',
      act: streams(story().replaceAll('\n\n', '\n\n\n\n\n')),
      ...both(responds()),
    },
    {
      name: 'byte by byte',
      manyTurns: true,
      act: async (wire) => {
        await wire.send(
          head(200, 'content-type: text/event-stream', `content-length: ${Buffer.byteLength(story(korean))}`),
        );
        await wire.drip(story(korean));
      },
      ...both(responds(korean)),
    },
    {
      name: 'each event cut at another byte',
      act: cutEverywhere(),
      manyTurns: true,
      ...both(responds('한🛶'.repeat(cuts))),
    },
    {
      name: 'all in one write',
      act: replies(story(korean), 'content-type: text/event-stream'),
      ...both(responds(korean)),
    },
    {
      name: 'an event without its blank line, then the close',
      act: sendsAndCloses(head(200, 'content-type: text/event-stream'), story().trimEnd()),
      ...both(responds()),
    },
    { name: 'no role', act: streams(contentChunk(), stop, used(), done), ...both(responds()) },
    {
      name: 'unknown members everywhere',
      act: streams(
        role,
        event({ choices: [{ index: 0, delta: { content: words, x: 1 }, y: [] }], z: {}, __proto__: {} }),
        stop,
        used(),
        done,
      ),
      ...both(responds()),
    },
    {
      name: 'events without choices',
      act: streams(
        event({ choices: [], prompt_filter_results: [] }),
        role,
        contentChunk(),
        stop,
        used(),
        done,
      ),
      ...both(responds()),
    },
    {
      name: 'an event without any content',
      act: streams(role, event({}), contentChunk(), stop, used(), done),
      ...both(failed(200)),
    },
  ],
};

/** Events that are each written in two parts, the n-th at another byte. */
function cutEverywhere(): Act {
  return async (wire) => {
    await wire.send(streamHead);
    await wire.send(framed(role));
    for (let n = 0; n < cuts; n += 1) {
      const bytes = Buffer.from(event({ choices: [{ index: 0, delta: { content: '한🛶' } }] }));
      await wire.send(framed(bytes.subarray(0, n + 1)));
      await wire.send(framed(bytes.subarray(n + 1)));
    }
    await wire.send(Buffer.concat([framed(stop + used() + done), Buffer.from('0\r\n\r\n')]));
  };
}

const ends: FaultClass = {
  name: '[DONE] and finish',
  faults: [
    { name: 'no [DONE]', act: streams(role, contentChunk(), stop, used()), ...both(responds()) },
    {
      name: 'no [DONE], until the close',
      act: sendsAndCloses(head(200, 'content-type: text/event-stream'), role, contentChunk(), stop, used()),
      ...both(responds()),
    },
    { name: '[DONE] twice', act: streams(story(), done), ...both(responds()) },
    { name: 'words after [DONE]', act: streams(story(), contentChunk('more'), done), ...both(responds()) },
    {
      name: '[DONE] without a finish',
      act: streams(role, contentChunk(), used(), done),
      ...both(responds()),
    },
    {
      name: '[DONE] spelt [done]',
      act: streams(role, contentChunk(), stop, used(), event('[done]')),
      ...both(responds()),
    },
    {
      name: 'the finish twice',
      act: streams(role, contentChunk(), stop, stop, used(), done),
      ...both(responds()),
    },
    {
      name: 'words after the finish',
      act: streams(role, contentChunk(), stop, delta({ content: '!' }), used(), done),
      ...both(responds(`${words}!`)),
    },
    {
      name: 'words for ever after the finish',
      heavy: true,
      act: begins([role, contentChunk(), stop], forever(framed(delta({ content: 'x'.repeat(100_000) })))),
      stream: broken(),
      whole: failed(200),
    },
    {
      name: 'an empty finish reason on every chunk',
      act: streams(delta({ content: 'a' }, ''), delta({ content: 'b' }, ''), stop, used(), done),
      ...both(responds('ab')),
    },
    {
      name: 'an unknown finish reason',
      act: streams(role, contentChunk(), delta({}, 'eos'), used(), done),
      ...both(responds()),
    },
    {
      name: 'the finish on the last words',
      act: streams(role, delta({ content: words }, 'stop'), used(), done),
      ...both(responds()),
    },
    {
      name: 'a finish and nothing else',
      act: streams(role, stop, used({ ...counted, completion_tokens: 0 }), done),
      ...both(responds('', 10, 0)),
    },
  ],
};

export const streamClasses: readonly FaultClass[] = [control, forms, ends];
