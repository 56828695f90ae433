import { z } from 'zod';
import { rootSchema } from './schema.ts';

/** The parts of JSON Schema that are read here. */
export interface JsonSchema {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | false;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minItems?: number;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly string[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/**
 * The schema of `naru.yaml` for editors: draft 2020-12, with a description for every member
 * (spec:operator/2.1).
 */
export function jsonSchema(): JsonSchema {
  const generated = z.toJSONSchema(rootSchema, {
    io: 'input',
    target: 'draft-2020-12',
    override: ({ jsonSchema: schema }) => forEditors(schema),
  });
  const { $schema, ...rest } = generated;
  return { $schema, title: 'naru.yaml', ...rest } as JsonSchema;
}

/** The loader reads every scalar as text; an editor needs numbers and booleans. */
function forEditors(schema: Record<string, unknown>): void {
  const described = schema['json'];
  if (described !== undefined) {
    for (const name of Object.keys(schema)) delete schema[name];
    Object.assign(schema, described);
  }
  const standIn = schema['default'];
  // An optional section shows the defaults of its members, not an empty mapping.
  if (
    typeof standIn === 'object' &&
    standIn !== null &&
    Object.keys(standIn).length === 0 &&
    !Array.isArray(standIn)
  ) {
    delete schema['default'];
  }
}
