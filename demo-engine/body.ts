import type { IncomingMessage } from 'node:http';
import type { Fields } from './fields.ts';
import { Refusal } from './refusal.ts';

const maxBodyBytes = 32 * 1024 * 1024;

/** The JSON object in a request's body. Throws a 400 for anything else and a 413 beyond 32 MiB. */
export async function readBody(request: IncomingMessage): Promise<Fields> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBodyBytes) throw new Refusal(413, 'the body is larger than 32 MiB');
    parts.push(part);
  }
  const body = parsed(Buffer.concat(parts).toString('utf8'));
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Fields;
  throw new Refusal(400, 'the body must be a JSON object');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(400, 'the body is not valid JSON');
  }
}
