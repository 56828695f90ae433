import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A demo engine in a separate process, for tests. */
export interface RunningEngine {
  readonly url: string;
  readonly process: ChildProcess;
  /** Posts a JSON body. */
  post(path: string, body: unknown, signal?: AbortSignal): Promise<Response>;
  /** The complete response to one question. */
  question(question: string, more?: object): Promise<EngineResponse>;
  /** The same, streamed. */
  requestInChunks(question: string, more?: object): Promise<StreamedResponse>;
  /** Ends the process by SIGTERM and waits for it. */
  stop(): Promise<void>;
}

/** Token counts as OpenAI names them. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** The content of a JSON response. */
export interface EngineResponse {
  readonly status: number;
  readonly text: string;
  readonly finish: string;
  readonly usage: Usage;
  readonly body: {
    readonly error?: { readonly message: string; readonly type: string; readonly param: string | null };
  };
}

/** The content of a stream, aggregated. */
export interface StreamedResponse {
  readonly text: string;
  readonly pieces: readonly string[];
  readonly finish: string;
  readonly usage: Usage | null;
  readonly last: string;
}

/** Starts the server on a free port and waits, 10 s at most, until it reports that it is ready. */
export async function startEngine(args: readonly string[] = []): Promise<RunningEngine> {
  const child = spawnEngine(['--port', '0', ...args]);
  const url = await readyUrl(child);
  const post: RunningEngine['post'] = async (path, body, signal) =>
    await fetch(`${url}${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      signal: signal ?? null,
    });
  const bodyOf = (question: string, more: object): object => ({
    messages: [{ role: 'user', content: question }],
    ...more,
  });
  return {
    url,
    process: child,
    post,
    question: async (question, more = {}) =>
      await jsonResponse(await post('/v1/chat/completions', bodyOf(question, more))),
    requestInChunks: async (question, more = {}) => {
      const options = { stream: true, stream_options: { include_usage: true } };
      return await streamedResponse(
        await post('/v1/chat/completions', bodyOf(question, { ...options, ...more })),
      );
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit', { signal: AbortSignal.timeout(5000) });
    },
  };
}

/** The server's process, with only its standard output to read. */
export function spawnEngine(args: readonly string[]): ChildProcess {
  const server = fileURLToPath(new URL('../../demo-engine/server.ts', import.meta.url));
  return spawn(process.execPath, [server, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
}

/** Reads a JSON chat response. */
export async function jsonResponse(response: Response): Promise<EngineResponse> {
  const body = (await response.json()) as EngineResponse['body'] & {
    readonly choices?: readonly {
      readonly message: { readonly content: string };
      readonly finish_reason: string;
    }[];
    readonly usage?: Usage;
  };
  const choice = body.choices?.[0];
  const usage = body.usage ?? { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  return {
    status: response.status,
    text: choice?.message.content ?? '',
    finish: choice?.finish_reason ?? '',
    usage,
    body,
  };
}

/** Reads a chat stream to its end. */
export async function streamedResponse(response: Response): Promise<StreamedResponse> {
  const events = (await response.text()).split('\n\n').filter((event) => event !== '');
  const chunks = events.slice(0, -1).map(
    (event) =>
      JSON.parse(event.slice('data: '.length)) as {
        readonly choices: readonly {
          readonly delta: { readonly content?: string };
          readonly finish_reason: string | null;
        }[];
        readonly usage?: Usage | null;
      },
  );
  const pieces = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.content ?? []));
  return {
    text: pieces.join(''),
    pieces,
    finish: chunks
      .flatMap(({ choices }) => choices.flatMap(({ finish_reason }) => finish_reason ?? []))
      .join(','),
    usage: chunks.findLast(({ usage }) => usage)?.usage ?? null,
    last: events.at(-1) ?? '',
  };
}

async function readyUrl(child: ChildProcess): Promise<string> {
  const deadline = AbortSignal.timeout(10_000);
  let printed = '';
  for (;;) {
    const [part] = (await once(child.stdout as NodeJS.ReadableStream, 'data', { signal: deadline })) as [
      Buffer,
    ];
    printed += part;
    const ready = /demo engine ready on (http:\/\/\S+)/.exec(printed);
    if (ready?.[1] === undefined) continue;
    // What it prints from here on must go somewhere, or the pipe would fill and block it.
    child.stdout?.resume();
    return ready[1];
  }
}
