import type { z } from 'zod';
import type { Failure } from '../errors/catalogue.ts';

/** What the API's document says of one endpoint, beside its row. */
export interface RouteDocument {
  /** One sentence for the list of endpoints, by language. */
  readonly summary: Bilingual;
  /** What a reader must know, in Markdown, by language. */
  readonly description: Bilingual;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The successful answer. */
  readonly answer: { readonly status: 200 | 201; readonly shape: z.ZodType };
  /** One event of the stream that answers instead when the body says `stream: true`. */
  readonly event?: z.ZodType;
  /** What it may refuse beside what its credential refuses. */
  readonly failures: readonly Failure[];
  /** A request that works as it stands; `{key}` stands for the reader's key. Every example is executed by a test. */
  readonly example?: { readonly path?: string; readonly body?: object };
}

/** A text in the two languages of the documentation. */
export interface Bilingual {
  readonly ko: string;
  readonly en: string;
}

/** Declares a document. Identity at run time. */
export function documents(document: RouteDocument): RouteDocument {
  return document;
}
