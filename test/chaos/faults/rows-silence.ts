/** Upstreams that fall silent, or almost silent. */
import { both, type Fault, type FaultClass, failed, responds, silent, streamed, words } from './fault.ts';
import {
  after,
  begins,
  contentChunk,
  delta,
  forever,
  framed,
  hang,
  head,
  jsonResponse,
  payload as response,
  role,
  stop,
  story,
  streamHead,
} from './payloads.ts';
import type { Act } from './wire.ts';

const whole = jsonResponse();
const wholeHead = head(200, 'content-type: application/json', 'content-length: 500');
const slice = (from: number, to: number): Buffer => whole.subarray(from, to);
const hangs: FaultClass = {
  name: 'hang',
  faults: [
    { name: 'before the head', act: hang, takes: 'firstByte', ...both(failed('timeout')) },
    {
      name: 'inside the status line',
      act: after(['HTTP/1'], hang),
      takes: 'firstByte',
      ...both(failed('timeout')),
    },
    {
      name: 'inside the headers',
      act: after([slice(0, 40)], hang),
      takes: 'firstByte',
      ...both(failed('timeout')),
    },
    {
      name: 'after the headers',
      act: after([wholeHead], hang),
      takes: 'firstByte',
      ...both(failed('timeout')),
    },
    {
      name: 'after the headers of a stream',
      act: after([streamHead], hang),
      takes: 'firstByte',
      ...both(failed('timeout')),
    },
    {
      name: 'inside a whole body',
      act: after([slice(0, whole.length - 9)], hang),
      takes: 'firstByte',
      ...both(failed('timeout')),
    },
    { name: 'after a role', act: begins([role], hang), takes: 'firstByte', ...both(failed('timeout')) },
    {
      name: 'comments only',
      act: begins([], forever(framed(': wait\n\n'), 20)),
      takes: 'total',
      ...both(failed('timeout')),
    },
    {
      name: 'empty contents only',
      act: begins([role], forever(framed(delta({ content: '' })), 20)),
      takes: 'total',
      ...both(failed('timeout')),
    },
    {
      name: 'mid-stream',
      act: begins([role, contentChunk()], hang),
      takes: ['idle', 'firstByte'],
      ...streamed(silent()),
    },
    {
      name: 'mid-stream, inside an event',
      act: begins([role, contentChunk(), 'data: {"choi'], hang),
      takes: ['idle', 'firstByte'],
      ...streamed(silent()),
    },
    {
      name: 'after the finish, before the usage',
      act: begins([role, contentChunk(), stop], hang),
      takes: ['idle', 'firstByte'],
      ...both(responds(words, 'counted', 'counted')),
    },
    { name: 'after [DONE]', act: begins([story()], hang), ...both(responds()) },
    {
      name: 'a body of an error that never ends',
      act: after([head(500, 'content-length: 99'), '{"err'], hang),
      takes: 'errorBody',
      ...both(failed(500)),
    },
    ...(['200', '429'] as const).map(
      (status): Fault => ({
        name: `no bytes of a ${status}`,
        act: after([head(Number(status), 'content-length: 9')], hang),
        takes: status === '200' ? 'firstByte' : 'errorBody',
        ...both(failed(status === '200' ? 'timeout' : 429)),
      }),
    ),
  ],
};

const trickle =
  (bytes: string | Buffer): Act =>
  (wire) =>
    wire.drip(bytes, 1, 40);

/**
 * A piece of a chunked body whose content trickles. Its length comes at once: while that trickles,
 * nothing of the body arrives, and on a busy machine the silence may be longer than its limit.
 */
const trickleOfPiece = (piece: string): Act => {
  const bytes = framed(piece);
  const content = bytes.indexOf('\r\n') + 2;
  return after([bytes.subarray(0, content)], trickle(bytes.subarray(content)));
};
const slow: FaultClass = {
  name: 'trickle',
  faults: [
    { name: 'of the status line', act: trickle(whole), takes: 'firstByte', ...both(failed('timeout')) },
    {
      name: 'of a body',
      act: after([wholeHead], trickle(JSON.stringify(response()))),
      takes: 'total',
      ...both(failed('timeout')),
    },
    {
      name: 'of the first event',
      act: after([streamHead], trickleOfPiece(story())),
      takes: 'total',
      ...both(failed('timeout')),
    },
    {
      name: 'of an event in the middle',
      act: after(
        [streamHead, framed(role + contentChunk())],
        trickleOfPiece(delta({ content: 'x'.repeat(500) })),
      ),
      takes: 'total',
      ...streamed(silent()),
    },
    {
      name: 'comments for ever after the first words',
      act: begins([role, contentChunk()], forever(framed(': \n\n'), 40)),
      takes: 'total',
      ...streamed(silent()),
    },
    {
      name: 'thoughts for ever',
      act: begins([role], forever(framed(delta({ reasoning: 'hm ' })), 40)),
      takes: 'total',
      ...streamed(silent('')),
    },
    {
      name: 'empty contents for ever after the first words',
      act: begins([role, contentChunk()], forever(framed(delta({ content: '' })), 40)),
      takes: 'total',
      ...streamed(silent()),
    },
    {
      name: 'a byte at a time, but fast',
      manyTurns: true,
      act: (wire) => wire.drip(whole, 1),
      ...both(responds()),
    },
  ],
};

export const silenceClasses: readonly FaultClass[] = [hangs, slow];
