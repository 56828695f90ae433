import { z } from 'zod';

/** An object of an OpenAPI document. */
export type OpenapiObject = Record<string, unknown>;

/**
 * A schema as JSON Schema 2020-12, which OpenAPI 3.1 includes: of what is sent, or of what is read.
 */
export function schemaOf(shape: z.ZodType, io: 'input' | 'output'): OpenapiObject {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io, unrepresentable: 'any' }) as OpenapiObject;
  return schema;
}

/** The parameters between braces in a path. */
export function pathParameters(path: string): readonly OpenapiObject[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
}

/** The parameters of a query; none without one. */
export function queryParameters(query: z.ZodType | undefined): readonly OpenapiObject[] {
  if (query === undefined) return [];
  const schema = schemaOf(query, 'input');
  const required = new Set((schema['required'] as readonly string[] | undefined) ?? []);
  const properties = (schema['properties'] ?? {}) as Record<string, OpenapiObject>;
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: 'query',
    required: required.has(name),
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }));
}

/** One response for each status, lowest first, with the names of its errors. */
export function errorResponses(
  namesByStatus: ReadonlyMap<number, Iterable<string>>,
): Readonly<Record<string, OpenapiObject>> {
  const rows = [...namesByStatus].sort(([one], [other]) => one - other);
  return Object.fromEntries(
    rows.map(([status, names]) => [
      status,
      {
        description: [...names].map((name) => `\`${name}\``).join(', '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  );
}
