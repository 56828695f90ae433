/**
 * The bytes that faults are made of: heads, JSON responses, events. Nothing here validates its
 * input.
 */
import { type Fault, words } from './fault.ts';
import type { Act, Wire } from './wire.ts';

export const counted = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/** A response head; header lines are sent unchanged. */
export function head(status: number | string, ...lines: readonly string[]): string {
  return `HTTP/1.1 ${status}${typeof status === 'number' ? ' X' : ''}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
}

/** A response with its length and type. */
export function response(
  body: string | Buffer,
  status: number | string = 200,
  ...lines: readonly string[]
): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const typed = lines.some((line) => /^content-type/i.test(line)) ? [] : ['content-type: application/json'];
  return Buffer.concat([
    Buffer.from(head(status, ...typed, `content-length: ${bytes.length}`, ...lines), 'latin1'),
    bytes,
  ]);
}

/** The object of a JSON response; `over` is merged over it. */
export function payload(text: string | null = words, over: object = {}): object {
  const message = { role: 'assistant', content: text };
  return {
    id: 'up-1',
    object: 'chat.completion',
    created: 1_795_219_200,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: counted,
    ...over,
  };
}

/** A JSON response. */
export function jsonResponse(text: string | null = words, over: object = {}): Buffer {
  return response(JSON.stringify(payload(text, over)));
}

export const streamHead = head(200, 'content-type: text/event-stream', 'transfer-encoding: chunked');
export const lastChunk = '0\r\n\r\n';

/** A piece of a chunked body. */
export function framed(piece: string | Buffer): Buffer {
  const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

/** An event with this data, unchanged or as JSON. */
export function event(data: unknown): string {
  return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

/** A chunk's event with one choice. */
export function delta(members: object, finish: string | null = null, over: object = {}): string {
  return event({
    id: 'up-1',
    object: 'chat.completion.chunk',
    created: 1_795_219_200,
    model: 'm',
    choices: [{ index: 0, delta: members, finish_reason: finish }],
    ...over,
  });
}

export const role = delta({ role: 'assistant', content: '' });
export const done = event('[DONE]');
export const stop = delta({}, 'stop');
/** The event with the usage. */
export function used(usage: unknown = counted): string {
  return event({ id: 'up-1', object: 'chat.completion.chunk', choices: [], usage });
}
/** Content, one event a word. */
export function contentChunk(text = words): string {
  return (text.match(/\S+\s*|\s+/gu) ?? []).map((word) => delta({ content: word })).join('');
}
/** All events of an ordinary response. */
export function story(text = words): string {
  return role + contentChunk(text) + stop + used() + done;
}

/** Sends these bytes for every request. */
export function sends(...bytes: readonly (string | Buffer)[]): Act {
  return async (wire) => {
    for (const each of bytes) await wire.send(each);
  };
}

/** The same, and then closes. */
export function sendsAndCloses(...bytes: readonly (string | Buffer)[]): Act {
  return async (wire) => {
    await sends(...bytes)(wire);
    wire.fin();
  };
}

/** A 200 with this body. */
export function replies(body: string | Buffer, ...lines: readonly string[]): Act {
  return sends(response(body, 200, ...lines));
}

/** A complete chunked stream of these pieces, each one write. */
export function streams(...pieces: readonly (string | Buffer)[]): Act {
  return sends(streamHead, ...pieces.map(framed), lastChunk);
}

/** The beginning of a stream, then its continuation. */
export function begins(
  pieces: readonly (string | Buffer)[],
  then: (wire: Wire) => Promise<void> | void,
): Act {
  return async (wire) => {
    await sends(streamHead, ...pieces.map(framed))(wire);
    await then(wire);
  };
}

/** A JSON response or a stream, as requested. */
export function either(whole: Act, stream: Act): Act {
  return (wire) => (wire.stream ? stream(wire) : whole(wire));
}

/** An ordinary response of the requested kind. */
export const ordinary: Act = either(sends(jsonResponse()), streams(role, contentChunk(), stop, used(), done));

export const fin = (wire: Wire): void => wire.fin();
export const rst = (wire: Wire): void => wire.rst();
export const hang = (wire: Wire): Promise<never> => wire.hang();

/** Sends repeatedly until the peer disconnects. */
export function forever(piece: string | Buffer, everyMs = 0): (wire: Wire) => Promise<never> {
  return async (wire) => {
    for (;;) {
      await wire.send(piece);
      if (everyMs > 0) await wire.wait(everyMs);
    }
  };
}

/** Sends these, and then does the other. */
export function after(bytes: readonly (string | Buffer)[], then: (wire: Wire) => Promise<void> | void): Act {
  return async (wire) => {
    await sends(...bytes)(wire);
    await then(wire);
  };
}

/** One fault with a close and one with a reset. */
export function closedOrReset(
  name: string,
  act: (end: (wire: Wire) => void) => Act,
  row: Omit<Fault, 'name' | 'act'>,
): readonly Fault[] {
  return [
    { ...row, name: `${name}, FIN`, act: act(fin) },
    { ...row, name: `${name}, RST`, act: act(rst) },
  ];
}

/** Arrays in arrays, as JSON. */
export const deep = (depth: number): string => `${'[1,'.repeat(depth)}1${']'.repeat(depth)}`;
