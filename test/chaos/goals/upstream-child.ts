/**
 * An upstream in a separate process, so that the server's figures are the server's alone. Prints
 * its port; ends with its standard input. By the first word of the path: `flood` streams some 20 KB
 * a second without end; `big` is a JSON response of 4 MiB; `drip` streams a word every 5 s, and
 * ends when a line arrives on standard input.
 */
import { createServer, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';

const words = 'the ferry crosses the river '.repeat(150_000);
/**
 * Less than the real usage: a provider that charges too little is accepted without counting
 * megabytes.
 */
const usage = { prompt_tokens: 8, completion_tokens: 9, total_tokens: 17 };
const dripping = new Set<() => void>();

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => respond(String(request.url).split('/')[1] ?? '', response));
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', 4096, () => {
  const address = server.address();
  if (address !== null && typeof address !== 'string') process.stdout.write(`${address.port}\n`);
});
createInterface({ input: process.stdin })
  .on('line', () => {
    for (const end of dripping) end();
  })
  .on('close', () => process.exit(0));

function respond(kind: string, response: ServerResponse): void {
  response.on('error', () => {});
  if (kind === 'big') {
    const message = { role: 'assistant', content: words };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ id: 'big', object: 'chat.completion', created: 1, model: 'm', choices, usage }),
    );
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  if (kind === 'flood') flood(response);
  else drip(response);
}

function chunk(content: string, finish: string | null, logprobs: unknown = null): string {
  const choices = [{ index: 0, delta: { content }, logprobs, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, usage })}\n\n`;
}

/** Few words and many bytes: each has its log probabilities, as clients may request. */
const likely = Array.from({ length: 20 }, (_, at) => ({
  token: `word${at}`,
  logprob: -at,
  bytes: [119, 111, 114, 100],
}));
const logprobs = {
  content: Array.from({ length: 10 }, () => ({ ...likely[0], top_logprobs: likely })),
  refusal: null,
};
const largest = chunk('the ferry ', null, logprobs);

/**
 * Some 20 KB a second, for as long as they are read: enough to fill a socket in two minutes,
 * without a race for the processor.
 */
function flood(response: ServerResponse): void {
  const timer = setInterval(() => {
    if (response.writableNeedDrain) return;
    response.write(largest.repeat(2));
  }, 1_000);
  response.on('close', () => clearInterval(timer));
}

function drip(response: ServerResponse): void {
  response.write(chunk('river ', null));
  const timer = setInterval(() => response.write(chunk('river ', null)), 5_000);
  const end = (): void => {
    clearInterval(timer);
    dripping.delete(end);
    if (!response.destroyed) response.end(`${chunk('', 'stop')}data: [DONE]\n\n`);
  };
  dripping.add(end);
  response.on('close', end);
}
