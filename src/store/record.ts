import type { Sql } from './sql.ts';

/** A member of a record: its expression in SQL, and how the driver's value becomes that of the code. */
export interface Column<T> {
  readonly sql: string;
  readonly read: (value: unknown) => T;
}

/** What the driver returns as the code has it: texts, booleans, ints, JSON, exact amounts and instants. */
export function column<T>(sql: string): Column<T> {
  return { sql, read: (value) => value as T };
}

/** A bigint that is no amount: an id, a count. */
export function number(sql: string): Column<number> {
  return { sql, read: Number };
}

/** A numeric, which arrives as text. */
export function numeric(sql: string): Column<bigint> {
  return { sql, read: (value) => BigInt(value as string) };
}

/** Bytes as hex digits. */
export function hex<T extends string>(sql: string): Column<T> {
  return { sql, read: (value) => (value as Buffer).toString('hex') as T };
}

/** A UUID as 32 hex digits. */
export function uuid(sql: string): Column<string> {
  return { sql, read: (value) => (value as string).replaceAll('-', '') };
}

/** A name that is stored as its place in a list, from `first` on. */
export function placeIn<T>(names: readonly T[], sql: string, first: 0 | 1): Column<T> {
  return { sql, read: (value) => names[Number(value) - first] as T };
}

/** A column that may be null. */
export function nullable<T>({ sql, read }: Column<T>): Column<T | null> {
  return { sql, read: (value) => (value === null ? null : read(value)) };
}

/** The type of a record. */
export type RowOf<R> = R extends RecordOf<infer T> ? T : never;

type Columns = Readonly<Record<string, Column<unknown>>>;
type Read<C extends Columns> = { readonly [Name in keyof C]: C[Name] extends Column<infer T> ? T : never };

/** A record of the database with the names of the code: what is selected, its type and its reading are one. */
export class RecordOf<T> {
  /** For SELECT and RETURNING. */
  readonly columns: string;
  readonly #members: readonly (readonly [name: string, column: Column<unknown>])[];

  constructor(columns: Columns) {
    this.#members = Object.entries(columns);
    this.columns = this.#members.map(([name, { sql }]) => `${sql} AS "${name}"`).join(', ');
  }

  /** A row of a statement that returns `columns`. */
  of(row: object): T {
    const values = row as Readonly<Record<string, unknown>>;
    const record: Record<string, unknown> = {};
    for (const [name, { read }] of this.#members) record[name] = read(values[name]);
    return record as T;
  }

  async all(sql: Sql, text: string, values?: readonly unknown[]): Promise<readonly T[]> {
    return (await sql.query(text, values)).map((row) => this.of(row));
  }

  /** The first row, or null. */
  async first(sql: Sql, text: string, values?: readonly unknown[]): Promise<T | null> {
    const [row] = await sql.query(text, values);
    return row === undefined ? null : this.of(row);
  }
}

/** Declares a record by its columns. */
export function recordOf<C extends Columns>(columns: C): RecordOf<Read<C>> {
  return new RecordOf(columns);
}
