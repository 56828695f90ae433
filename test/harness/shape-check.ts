import { z } from 'zod';
import type { RouteDocument } from '../../src/api/document.ts';
import type { AnyRoute } from '../../src/api/route.ts';
import type { RouteTable } from '../../src/http/route-table.ts';
import { errorShape } from '../../src/wire/shapes/error.ts';
import { eventsOf } from './stream.ts';

/**
 * Fails the test when a response violates the API's document: the shape of its route's response, of
 * its events, or of an error. Every response that a test gets is checked here.
 */
export function assertDocumented(
  table: RouteTable<AnyRoute>,
  method: string,
  path: string,
  response: { status: number; text: string; headers: Headers },
): void {
  const type = response.headers.get('content-type') ?? '';
  if (response.text === '' || response.status === 413 || type.startsWith('text/html')) return;
  if (response.status >= 400) {
    assertShape(errorShape, JSON.parse(response.text), `${method} ${path} ${response.status}`);
    return;
  }
  const document = documentOf(table, method, path);
  if (document === undefined) return;
  if (!type.startsWith('text/event-stream')) {
    assertShape(document.response.shape, JSON.parse(response.text), `${method} ${path}`);
    return;
  }
  if (document.event === undefined)
    throw new Error(`${method} ${path} streams, but its document has no event`);
  if (!response.text.endsWith('\n\n')) return;
  for (const event of eventsOf(response.text)) {
    if (event.data !== '[DONE]') assertShape(document.event, event.json, `an event of ${method} ${path}`);
  }
}

function documentOf(table: RouteTable<AnyRoute>, method: string, path: string): RouteDocument | undefined {
  try {
    const found = table.find(method, path);
    return found.kind === 'route' ? found.route.document : undefined;
  } catch {
    // A path without a row has no document; its error was checked.
    return undefined;
  }
}

function assertShape(shape: z.ZodType, value: unknown, what: string): void {
  const parsed = shape.safeParse(value);
  if (parsed.success) return;
  throw new Error(
    `${what} is not as documented:\n${z.prettifyError(parsed.error)}\n${JSON.stringify(value).slice(0, 2000)}`,
  );
}
