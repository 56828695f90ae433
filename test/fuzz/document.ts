import { z } from 'zod';

/** A JSON schema, as far as the document of the API uses them. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly examples?: readonly unknown[];
  readonly format?: string;
}

/** One parameter of an operation. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly schema: Schema;
}

/** One operation of the API's document. */
export interface Operation {
  /** `GET /keys/{hash}` */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly needsKey: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | null;
  /** The shape of the JSON body of each documented status. */
  readonly responses: ReadonlyMap<number, z.ZodType>;
  /** The shape of one event when it streams. */
  readonly event: z.ZodType | null;
}

/** The document as text, parsed into operations. The fuzzer's whole knowledge of the API. */
export function readDocument(text: string): readonly Operation[] {
  const document = JSON.parse(text);
  const [{ url }] = document.servers as [{ url: string }];
  const shapeOf = (schema: Json): z.ZodType =>
    z.fromJSONSchema(
      schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1)],
    );
  return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]): Operation => {
      const responses = Object.entries<Json>(operation.responses);
      const event = responses
        .map(([, response]) => response.content?.['text/event-stream']?.schema)
        .find((schema) => schema !== undefined);
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path: `${url}${path}`,
        needsKey: operation.security.length > 0,
        parameters: operation.parameters,
        body: operation.requestBody?.content['application/json'].schema ?? null,
        responses: new Map(
          responses.map(([status, { content }]) => [
            Number(status),
            shapeOf(content['application/json'].schema),
          ]),
        ),
        event: event === undefined ? null : shapeOf(event),
      };
    }),
  );
}

// biome-ignore lint/suspicious/noExplicitAny: a document is read as its reader would.
type Json = any;
