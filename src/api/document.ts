import type { z } from 'zod';
import type { Failure } from '../errors/catalogue.ts';

/** The documentation of one endpoint, next to its row. */
export interface RouteDocument {
  /** One sentence for the list of endpoints, by language. */
  readonly summary: Bilingual;
  /** What a reader needs to know, in Markdown, by language. */
  readonly description: Bilingual;
  /** The query. Dispatch parses it and the handler gets the result. */
  readonly query?: z.ZodType;
  /**
   * The body. `readJsonBody` parses it; that of a completion is parsed by hand
   * (`wire/parameters.ts`).
   */
  readonly body?: z.ZodType;
  /** The successful response. */
  readonly response: { readonly status: 200 | 201; readonly shape: z.ZodType };
  /** One event of the stream that is the response when the body has `stream: true`. */
  readonly event?: z.ZodType;
  /** The refusals in addition to those of its credential. */
  readonly failures: readonly Failure[];
  /**
   * A complete working request; `{key}` is replaced by the reader's key. A test executes every
   * example.
   */
  readonly example?: { readonly path?: string; readonly body?: object };
}

/** A text in the two languages of the documentation. */
export interface Bilingual {
  readonly ko: string;
  readonly en: string;
}

/** Declares a document. Identity at run time; at compile time it keeps the types of the schemas. */
export function documents<D extends RouteDocument>(document: D): D {
  return document;
}
