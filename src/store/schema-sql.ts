import { readFileSync } from 'node:fs';
import { distributedTables } from './placement/distribution.ts';
import type { Sql } from './sql.ts';

/** The schema that the migrations produce, as `readSchema` reads it; it lies beside them. */
export const schemaFile = new URL('./migrations/schema.txt', import.meta.url);

/**
 * The namespace of our tables: with the search path of an operator, it need not be the first of the
 * path.
 */
const namespaceSql = "(SELECT relnamespace FROM pg_class WHERE oid = to_regclass('schema_migration'))";

/**
 * What protects the rows, a line for each: tables, columns, constraints, indexes, triggers, functions
 * and comments, of all tables but the partitions of months.
 */
const schemaSql = `
  WITH own AS (
    SELECT oid, relname, relkind, relpersistence, reloptions FROM pg_class c
    WHERE relnamespace = ${namespaceSql} AND relkind IN ('r', 'p')
      AND (NOT relispartition OR pg_get_expr(relpartbound, oid) = 'DEFAULT'))
  SELECT 1 AS part, format('%s.%s %s%s%s%s', relname, attname, format_type(atttypid, atttypmod),
           CASE WHEN attnotnull THEN ' not null' ELSE '' END, CASE WHEN attidentity <> '' THEN ' identity' ELSE '' END,
           coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')) AS line
  FROM own JOIN pg_attribute a ON attrelid = own.oid LEFT JOIN pg_attrdef d ON d.adrelid = own.oid AND d.adnum = attnum
  WHERE attnum > 0 AND NOT attisdropped
  UNION ALL
  SELECT 2, format('%s: %s %s', relname, conname, pg_get_constraintdef(c.oid))
  FROM own JOIN pg_constraint c ON conrelid = own.oid WHERE contype <> 'n'
  UNION ALL
  SELECT 3, pg_get_indexdef(indexrelid) || coalesce(' ' || array_to_string(reloptions, ','), '') || CASE WHEN indisvalid THEN '' ELSE ' invalid' END
  FROM own JOIN pg_index ON indrelid = own.oid
  UNION ALL
  SELECT 4, format('%s %s', pg_get_triggerdef(t.oid), tgenabled) FROM own JOIN pg_trigger t ON tgrelid = own.oid WHERE NOT tgisinternal
  UNION ALL
  SELECT 5, format('function %s %s %s', p.oid::regprocedure, lanname, encode(sha256(convert_to(prosrc, 'UTF8')), 'hex'))
  FROM pg_proc p JOIN pg_language l ON l.oid = prolang WHERE pronamespace = ${namespaceSql}
  UNION ALL
  SELECT 6, format('table %s %s %s', relname, relkind, relpersistence) FROM own
  UNION ALL
  SELECT 7, format('comment %s: %s', relname, obj_description(oid, 'pg_class')) FROM own WHERE obj_description(oid, 'pg_class') IS NOT NULL`;

/** The lines of the schema that a database has, in a fixed order. */
export async function readSchema(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.query<{ part: number; line: string; prefix: string }>(
    `SELECT part, regexp_replace(line, '\\s+', ' ', 'g') AS line, ${namespaceSql}::regnamespace || '.' AS prefix FROM (${schemaSql}) s`,
  );
  const lines = rows.map(({ part, line, prefix }) => ({ part, line: line.replaceAll(prefix, 'public.') }));
  return lines.sort((a, b) => a.part - b.part || (a.line < b.line ? -1 : 1)).map(({ line }) => line);
}

/**
 * What the schema of the migrations has and the database lacks, or has in another form, a line for
 * each, and sequences that would number a new row as an existing one. What an operator added is not
 * looked at; nor are tables that are guarded elsewhere.
 */
export async function findSchemaFaults(sql: Sql): Promise<readonly string[]> {
  const distributed = await distributedTables(sql);
  const isSkipped = new Set(distributed.flatMap((name) => [name, `${name}_default`]));
  const found = new Set(await readSchema(sql));
  const wanted = readFileSync(schemaFile, 'utf8').split('\n').filter(Boolean);
  const lacking = wanted.filter((line) => !found.has(line) && !isSkipped.has(tableOf(line)));
  return [
    ...lacking.map((line) => `missing or changed: ${line}`),
    ...(isSkipped.has('generation') ? [] : await partitionsWithoutGuard(sql)),
    ...(await sequencesBehind(sql, isSkipped)).map(
      ({ table, column, last }) => `the sequence of ${table}.${column} is behind its rows, at ${last}`,
    ),
  ];
}

function tableOf(line: string): string {
  const [, ofIndex, ofOther] =
    / ON (?:ONLY )?public\.(\w+) |^(?:table |comment )?(\w+)[.: ]/.exec(line) ?? [];
  return ofIndex ?? ofOther ?? '';
}

async function partitionsWithoutGuard(sql: Sql): Promise<readonly string[]> {
  const rows = await sql.query<{ name: string }>(
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = to_regclass('generation') AND NOT inhdetachpending
       AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = inhrelid AND tgname = 'append_only' AND tgenabled = 'A') ORDER BY 1`,
  );
  return rows.map(({ name }) => `missing or changed: the trigger append_only on ${name}`);
}

/** The sequence of a column that would use again a number that a row has. */
export interface SequenceBehind {
  readonly table: string;
  readonly column: string;
  /** The last number that was used, as text; null: none was. */
  readonly last: string | null;
}

/** The sequences that are behind the rows of their tables; those of `skipped` tables are not read. */
export async function sequencesBehind(
  sql: Sql,
  skipped: ReadonlySet<string> = new Set(),
): Promise<readonly SequenceBehind[]> {
  const sequences = await sql.query<{ table: string; column: string; sequence: string }>(
    `SELECT t.relname AS table, attname AS column, c.oid::regclass::text AS sequence
     FROM pg_class c JOIN pg_depend d ON d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.deptype = 'i'
     JOIN pg_class t ON t.oid = d.refobjid JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
     WHERE c.relkind = 'S' AND c.relnamespace = ${namespaceSql} ORDER BY 1, 2`,
  );
  const behind: SequenceBehind[] = [];
  for (const { table, column, sequence } of sequences) {
    if (skipped.has(table)) continue;
    // In one statement: its rows are those of its beginning, and the sequence is read after that.
    const [row] = await sql.query<{ last: string | null; is_behind: boolean }>(
      `SELECT CASE WHEN is_called THEN last_value::text END AS last,
         coalesce((SELECT max(${column}) FROM ${table}) > CASE WHEN is_called THEN last_value ELSE last_value - 1 END, false) AS is_behind
       FROM ${sequence}`,
    );
    if (row?.is_behind === true) behind.push({ table, column, last: row.last });
  }
  return behind;
}
