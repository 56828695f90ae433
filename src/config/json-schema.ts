import { z } from 'zod';
import { rootSchema } from './schema.ts';

/** A JSON Schema, as far as this one needs to be read back. */
export interface JsonSchema {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | false;
  readonly required?: readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly string[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** The schema of `naru.yaml` for editors: draft 2020-12, with a description for every member (spec:operator/2.1). */
export function jsonSchema(): JsonSchema {
  const generated = z.toJSONSchema(rootSchema, {
    io: 'input',
    target: 'draft-2020-12',
    override: ({ jsonSchema: schema }) => forEditors(schema),
  });
  const { $schema, ...rest } = generated;
  return { $schema, title: 'naru.yaml', ...rest } as JsonSchema;
}

/** The reader takes every scalar as text; an editor sees numbers and booleans, and is told of those. */
function forEditors(schema: Record<string, unknown>): void {
  const described = schema['json'];
  if (described !== undefined) {
    for (const name of Object.keys(schema)) delete schema[name];
    Object.assign(schema, described);
  }
  const standIn = schema['default'];
  // A section that may be left out shows the defaults of its members, not an empty mapping.
  if (
    typeof standIn === 'object' &&
    standIn !== null &&
    Object.keys(standIn).length === 0 &&
    !Array.isArray(standIn)
  ) {
    delete schema['default'];
  }
}
