/** A JSON schema as it is, and what states the length of a text beside `maxLength`. */
// biome-ignore lint/suspicious/noExplicitAny: a document is read as its reader would.
type Json = any;
const noSchema = { type: 'none' };
const shortFormats: ReadonlySet<unknown> = new Set(['date', 'date-time', 'uuid']);

/**
 * The texts, lists and maps that requests of an OpenAPI document may send at any length, by
 * operation and member. Free objects (`{}`) have no schema to check: the body bounds them.
 */
export function unboundedIn({ paths }: Json): readonly string[] {
  return Object.entries<Json>(paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).flatMap(([method, { parameters = [], requestBody }]) => [
      ...parameters
        .filter((each: Json) => each.in === 'query')
        .flatMap((each: Json) => unbounded(each.schema, `${method} ${path} ?${each.name}`)),
      ...unbounded(requestBody?.content['application/json'].schema ?? noSchema, `${method} ${path} body`),
    ]),
  );
}

function unbounded(schema: Json, at: string): readonly string[] {
  if (schema === noSchema) return [];
  const isA = (type: string): boolean => schema.type === type || schema.type?.includes?.(type) === true;
  const isShort =
    schema.enum !== undefined ||
    schema.const !== undefined ||
    schema.maxLength !== undefined ||
    shortFormats.has(schema.format) ||
    /^\^[^*+]*\$$/.test(schema.pattern ?? '');
  return [
    ...(isA('string') && !isShort ? [at] : []),
    ...(isA('array') && schema.maxItems === undefined ? [at] : []),
    ...['anyOf', 'oneOf', 'allOf'].flatMap((each) =>
      (schema[each] ?? []).flatMap((one: Json) => unbounded(one, at)),
    ),
    ...unbounded(schema.items ?? noSchema, `${at}[]`),
    ...Object.entries<Json>(schema.properties ?? {}).flatMap(([name, one]) =>
      unbounded(one, `${at}.${name}`),
    ),
    ...(typeof schema.additionalProperties === 'object'
      ? unbounded(schema.additionalProperties, `${at}.*`)
      : []),
  ];
}
