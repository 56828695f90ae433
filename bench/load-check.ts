/**
 * Reads one complete raw response: a stream of so many content chunks, a whole response (null), or
 * any JSON object. Null when it is the expected one, else what is wrong: a benchmark of broken
 * responses would be fast.
 */
export function checkResponse(bytes: Buffer, expected: number | null | 'object'): string | null {
  const head = bytes.indexOf('\r\n\r\n');
  const chunked = /\r\ntransfer-encoding: *chunked/i.test(bytes.toString('latin1', 0, head));
  const body = chunked ? unchunk(bytes.subarray(head + 4)) : bytes.toString('utf8', head + 4);
  try {
    if (expected === 'object') return typeof JSON.parse(body) === 'object' ? null : `no object: ${body}`;
    return expected === null ? checkWhole(body) : checkStream(body, expected);
  } catch (error) {
    return `unreadable response (${String(error)}): ${body.slice(0, 200)}`;
  }
}

interface Choice {
  readonly message?: { readonly content?: string };
  readonly delta?: { readonly content?: string };
}

function checkWhole(body: string): string | null {
  const response = JSON.parse(body) as { readonly choices?: readonly Choice[]; readonly usage?: object };
  if (!response.choices?.[0]?.message?.content) return `no content: ${body.slice(0, 200)}`;
  return response.usage === undefined ? 'no usage' : null;
}

function checkStream(body: string, chunks: number): string | null {
  const events = body.split('\n\n').filter((event) => event.startsWith('data: '));
  if (events.pop() !== 'data: [DONE]') return `a stream without its end: ${body.slice(-200)}`;
  let content = 0;
  let counted = 0;
  for (const event of events) {
    const chunk = JSON.parse(event.slice(6)) as {
      choices?: readonly Choice[];
      usage?: object;
      error?: object;
    };
    if (chunk.error !== undefined) return `an error in the stream: ${event.slice(0, 200)}`;
    if (chunk.choices?.[0]?.delta?.content) content += 1;
    if (chunk.usage !== undefined && chunk.usage !== null) counted += 1;
  }
  if (content !== chunks) return `${content} content chunks instead of ${chunks}`;
  return counted === 1 ? null : `${counted} usage chunks instead of one`;
}

function unchunk(bytes: Buffer): string {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(pieces).toString();
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
