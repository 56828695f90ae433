import { type Limits, type Schema, typesOf } from './openapi-form.ts';

/** Fields of a JSON Schema as the rows of a table. */

/** A field, with its place in the object: `messages[].role`. */
export interface Field {
  readonly path: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
}

/** All fields of a schema with those inside them, each path once, in the order of the schema. */
export function fieldsOf(schema: Schema): readonly Field[] {
  const fields = new Map<string, Field>();
  addFields(schema, '', fields);
  return [...fields.values()];
}

function addFields(schema: Schema, path: string, fields: Map<string, Field>): void {
  for (const branch of branchesOf(schema)) addFields(branch, path, fields);
  const required = new Set(schema.required ?? []);
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const inner = path === '' ? name : `${path}.${name}`;
    if (!fields.has(inner))
      fields.set(inner, {
        path: inner,
        type: typeOf(member),
        isRequired: required.has(name),
        description: descriptionOf(member),
      });
    addFields(member, inner, fields);
  }
  if (typeof schema.items === 'object') addFields(schema.items, `${path}[]`, fields);
  const { additionalProperties: rest } = schema;
  if (typeof rest === 'object') addFields(rest, path === '' ? '*' : `${path}.*`, fields);
}

function branchesOf(schema: Schema): readonly Schema[] {
  return [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
}

function descriptionOf(schema: Schema): string {
  return (
    schema.description ??
    branchesOf(schema)
      .map(descriptionOf)
      .find((text) => text !== '') ??
    ''
  );
}

/** The type in words with its limits: `integer, 1 to 128`, `array of string, or null`. */
export function typeOf(schema: Schema): string {
  if ('const' in schema) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(', ');
  const branches = branchesOf(schema);
  if (branches.length > 0) return unionOf(branches.map(typeOf));
  const types = typesOf(schema);
  if (types.length === 0) return 'any value';
  return unionOf(types.map((type) => (type === 'null' ? type : plainType(type, schema))));
}

/** Each type once, `null` last. */
function unionOf(types: readonly string[]): string {
  const each = [...new Set(types.flatMap((type) => type.split(' or ')))];
  const others = each.filter((type) => type !== 'null');
  return [...others, ...(others.length < each.length ? ['null'] : [])].join(' or ');
}

function plainType(type: string, schema: Schema): string {
  const limits = limitsOf(schema);
  const kind =
    type === 'array' && typeof schema.items === 'object' ? `array of ${typeOf(schema.items)}` : type;
  return limits === '' ? kind : `${kind} (${limits})`;
}

/** A limit as a reader needs it; null for none, and for numbers beyond which no integer is exact. */
function statedLimit(limit: unknown): string | null {
  if (limit === undefined || Math.abs(Number(limit)) >= Number.MAX_SAFE_INTEGER) return null;
  return Number(limit).toLocaleString('en');
}

/** The limits in words, as `1 to 128` or `at least 1 item`; empty without any. */
export function limitsOf(schema: Limits): string {
  const range = (from: unknown, to: unknown, unit: string): readonly string[] => {
    const [min, max] = [statedLimit(from), statedLimit(to)] as const;
    const counted = (limit: string): string =>
      unit === '' ? limit : `${limit} ${unit}${limit === '1' ? '' : 's'}`;
    if (min !== null && max !== null) return [min === max ? counted(min) : `${min} to ${counted(max)}`];
    if (max !== null) return [`at most ${counted(max)}`];
    return min === null || (unit !== '' && min === '0') ? [] : [`at least ${counted(min)}`];
  };
  const above = statedLimit(schema.exclusiveMinimum);
  return [
    ...range(schema.minimum, schema.maximum, ''),
    ...(above === null ? [] : [`above ${above}`]),
    ...range(schema.minLength, schema.maxLength, 'character'),
    ...range(schema.minItems, schema.maxItems, 'item'),
    ...(schema.format === undefined ? [] : [schema.format]),
  ].join(', ');
}

function literal(value: unknown): string {
  return `\`${JSON.stringify(value)}\``;
}
