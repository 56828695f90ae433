import type { JsonReply } from '../wire/reply.ts';
import type { HeaderList } from './headers.ts';

/**
 * How the responses of the pages look: their common headers, and their errors. Those of the API
 * have no style.
 */
export interface ResponseStyle {
  headers(requestId: string): HeaderList;
  /** The response to anything thrown, and its type for the log. */
  renderError(thrown: unknown, requestId: string): JsonReply & { readonly type: string };
}
