/**
 * A fixed upstream for benchmarks, as fast as `node:net` goes: nothing is parsed but where a
 * request ends.
 *
 *   node test/harness/fast-upstream.ts [--chunks 200]      prints `listening on http://127.0.0.1:PORT`
 *
 * The first letter of the path chooses the response, the rest of the path is ignored: `/whole/…` a
 * chat completion of 1,024 bytes with usage; `/unbuffered/…` a stream with one write a chunk and
 * one chunk a turn of the event loop; `/batched/…` the same stream in a single write; `/paced/…` a
 * stream of two seconds with 50 chunks a second, each of which says when it was written
 * (`paced-stamp.ts`); `/held/…` a chunk, and the end of the stream after 15 s. Ends with its standard
 * input.
 */
import { createServer, type Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { PACED_CHUNKS, PACED_EVERY_MS, stamp, writeStamp } from './paced-stamp.ts';

const { values } = parseArgs({ options: { chunks: { type: 'string', default: '200' } } });
const chunkCount = Number(values.chunks);
const heldMs = 15_000;
const CREATED = 1_795_219_200;
const MODEL = 'bench-model';

const whole = wholeResponse(1024);
const parts = streamResponse(chunkCount);
const batched = Buffer.concat(parts);
const [pacedHead = Buffer.alloc(0), pacedChunk = Buffer.alloc(0), pacedEnd = Buffer.alloc(0)] = [
  ...streamResponse(1, stamp),
];

interface PacedStream {
  readonly socket: Socket;
  sent: number;
}

/** The streams by the millisecond of each period in which their chunks are due. */
const due: readonly Set<PacedStream>[] = Array.from({ length: PACED_EVERY_MS }, () => new Set());
let pacedUntilMs = Math.floor(performance.now());
setInterval(() => {
  for (const nowMs = Math.floor(performance.now()); pacedUntilMs < nowMs; pacedUntilMs += 1) {
    const streams = due[pacedUntilMs % PACED_EVERY_MS] as Set<PacedStream>;
    for (const stream of streams) if (!advance(stream)) streams.delete(stream);
  }
}, 1);

const server = createServer({ noDelay: true }, serve);
server.listen(0, '127.0.0.1', 1024, () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  process.stdout.write(`listening on http://127.0.0.1:${address.port}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();

function serve(socket: Socket): void {
  let rest: Buffer | null = null;
  socket.on('error', () => socket.destroy());
  socket.on('data', (read) => {
    if (typeof read === 'string') return;
    let bytes = rest === null ? read : Buffer.concat([rest, read]);
    for (let end = endOfRequest(bytes); end > 0; end = endOfRequest(bytes)) {
      response(socket, bytes);
      bytes = bytes.subarray(end);
    }
    rest = bytes.length === 0 ? null : bytes;
  });
}

/**
 * Past the last byte of the first request; 0 when there is no complete one. Chunked bodies end at
 * their last chunk.
 */
function endOfRequest(bytes: Buffer): number {
  if (bytes.length === 0) return 0;
  const head = bytes.indexOf('\r\n\r\n');
  if (head === -1) return 0;
  const name = bytes.indexOf('ength: '); // of `Content-Length: ` in either spelling
  if (name === -1 || name > head) {
    if (!/\r\ntransfer-encoding: chunked/i.test(bytes.toString('latin1', 0, head))) return head + 4;
    const last = bytes.indexOf('\r\n0\r\n\r\n', head + 2);
    return last === -1 ? 0 : last + 7;
  }
  let length = 0;
  for (let at = name + 7; at < head; at += 1) {
    const digit = (bytes[at] ?? 0) - 48;
    if (digit < 0 || digit > 9) break;
    length = length * 10 + digit;
  }
  const end = head + 4 + length;
  return bytes.length >= end ? end : 0;
}

function response(socket: Socket, request: Buffer): void {
  const slash = request.indexOf('/');
  switch (request[slash + 1]) {
    case 0x77: // w
      socket.write(whole);
      return;
    case 0x75: // u
      drip(socket, 0);
      return;
    case 0x70: {
      // p
      const stream = { socket, sent: 0 };
      socket.write(pacedHead);
      if (advance(stream)) due[Math.floor(performance.now()) % PACED_EVERY_MS]?.add(stream);
      return;
    }
    case 0x68: // h
      socket.write(Buffer.concat([pacedHead, pacedChunk]));
      setTimeout(() => socket.write(pacedEnd), heldMs);
      return;
    default:
      socket.write(batched);
  }
}

function drip(socket: Socket, at: number): void {
  const part = parts[at];
  if (part === undefined || socket.destroyed) return;
  socket.write(part);
  setImmediate(drip, socket, at + 1);
}

/** Sends the next chunk of a paced stream; false when that was its end. */
function advance(stream: PacedStream): boolean {
  const { socket } = stream;
  if (socket.destroyed) return false;
  if (stream.sent === PACED_CHUNKS) {
    socket.write(pacedEnd);
    return false;
  }
  stream.sent += 1;
  socket.write(writeStamp(Buffer.from(pacedChunk)));
  return true;
}

/** Its content is words, so that a gateway that counts tokens itself finds the usage plausible. */
function wholeResponse(bodyBytes: number): Buffer {
  const body = (content: string): string =>
    JSON.stringify({
      id: 'chatcmpl-bench',
      object: 'chat.completion',
      created: CREATED,
      model: MODEL,
      choices: [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: 'stop' }],
      usage: { prompt_tokens: 170, completion_tokens: 150, total_tokens: 320 },
    });
  const filler = 'a ferry crosses the river at dawn and returns at dusk, '.repeat(20);
  const text = body(filler.slice(0, bodyBytes - body('').length));
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n`;
  return Buffer.from(head + text);
}

/**
 * The head with a role chunk, `count` content chunks, then finish, usage and `[DONE]` as the last
 * part.
 */
function streamResponse(count: number, content = ' river'): Buffer[] {
  const chunk = (choices: readonly object[], extra: object = {}): Buffer => {
    const shape = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: CREATED, model: MODEL };
    return framed(`data: ${JSON.stringify({ ...shape, choices, ...extra })}\n\n`);
  };
  const choice = (delta: object, finish: string | null): object[] => [
    { index: 0, delta, logprobs: null, finish_reason: finish },
  ];
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
  const usage = { prompt_tokens: 170, completion_tokens: count, total_tokens: 170 + count };
  return [
    Buffer.concat([Buffer.from(head), chunk(choice({ role: 'assistant', content: '' }, null))]),
    ...Array.from({ length: count }, () => chunk(choice({ content }, null))),
    Buffer.concat([
      chunk(choice({}, 'stop')),
      chunk([], { usage }),
      framed('data: [DONE]\n\n'),
      Buffer.from('0\r\n\r\n'),
    ]),
  ];
}

function framed(text: string): Buffer {
  return Buffer.from(`${text.length.toString(16)}\r\n${text}\r\n`);
}
