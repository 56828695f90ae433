import { type JsonSchema, jsonSchema } from '../../src/config/json-schema.ts';
import { withTables } from './tables.ts';

/** The JSON Schema of naru.yaml for editors, as a text. */
export function schemaText(): string {
  return `${JSON.stringify(jsonSchema(), null, 2)}\n`;
}

/** docs/configuration.md with a table for every section of the schema. */
export function configurationPage(page: string): string {
  return withTables(page, tablesOf(jsonSchema()));
}

/** The tables of all mappings of the schema by path; `file` is the root. */
function tablesOf(schema: JsonSchema): ReadonlyMap<string, string> {
  const tables = new Map<string, string>();
  addTable('', schema, tables);
  for (const [name, shared] of Object.entries(schema.$defs ?? {})) addTable(name, shared, tables);
  return tables;
}

function addTable(path: string, schema: JsonSchema, tables: Map<string, string>): void {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const standIn = required.has(name) ? '**required**' : defaultOf(member);
    return `| \`${name}\` | ${valueTextOf(member)} | ${standIn} | ${member.description ?? descriptionOf(member)} |`;
  });
  tables.set(
    path === '' ? 'file' : path,
    ['| Member | Value | Default | Meaning |', '|---|---|---|---|', ...rows, ''].join('\n'),
  );
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const inner = path === '' ? name : `${path}.${name}`;
    if (member.properties !== undefined) addTable(inner, member, tables);
    if (member.items?.properties !== undefined) addTable(`${inner}[]`, member.items, tables);
  }
}

/** The kind with its limits. */
function valueTextOf(schema: JsonSchema): string {
  const limits = limitsOf(schema);
  return limits === '' ? kindOf(schema) : `${kindOf(schema)}, ${limits}`;
}

function kindOf(schema: JsonSchema): string {
  if (schema.$ref !== undefined) return `[${schema.$ref.replace('#/$defs/', '')}](#prices)`;
  if (schema.anyOf !== undefined) return (schema.anyOf[0]?.enum ?? []).map((word) => `\`${word}\``).join(' ');
  if (schema.items !== undefined)
    return schema.items.properties === undefined ? `list of ${kindOf(schema.items)}` : 'list';
  if (schema.properties !== undefined) return 'mapping';
  if (schema.additionalProperties !== undefined) return 'mapping of names to text';
  const [kind] = [schema.type].flat();
  return kind === 'string' ? 'text' : String(kind);
}

function defaultOf(schema: JsonSchema): string {
  if (schema.default === undefined) return '';
  return schema.default === ''
    ? 'empty'
    : `\`${Array.isArray(schema.default) ? `[${schema.default.join(', ')}]` : schema.default}\``;
}

function descriptionOf(schema: JsonSchema): string {
  const name = schema.$ref?.replace('#/$defs/', '');
  return name === undefined ? '' : (jsonSchema().$defs?.[name]?.description ?? '');
}

/** A limit as a reader needs it; null for none, and for numbers beyond which no integer is exact. */
function statedLimit(limit: number | undefined): string | null {
  return limit === undefined || Math.abs(limit) >= Number.MAX_SAFE_INTEGER
    ? null
    : limit.toLocaleString('en');
}

/** The limits in words, as `1 to 128` or `at least 1 item`; empty without any. */
function limitsOf({ minimum, maximum, exclusiveMinimum, minItems }: JsonSchema): string {
  const [min, max, above] = [minimum, maximum, exclusiveMinimum].map(statedLimit);
  return [
    ...(max == null
      ? min == null
        ? []
        : [`at least ${min}`]
      : [min == null ? `at most ${max}` : `${min} to ${max}`]),
    ...(above == null ? [] : [`above ${above}`]),
    ...(minItems === undefined ? [] : [`at least ${minItems} item${minItems === 1 ? '' : 's'}`]),
  ].join(', ');
}
