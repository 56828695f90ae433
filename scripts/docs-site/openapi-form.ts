/**
 * The form of the OpenAPI documents that the route tables write, as far as the reference of the
 * API reads it.
 */

/** The members of a JSON Schema that limit a value. */
export interface Limits {
  readonly minimum?: unknown;
  readonly maximum?: unknown;
  readonly exclusiveMinimum?: unknown;
  readonly minLength?: unknown;
  readonly maxLength?: unknown;
  readonly minItems?: unknown;
  readonly maxItems?: unknown;
  readonly format?: string;
}

/** A JSON Schema, as far as `z.toJSONSchema` writes it. */
export interface Schema extends Limits {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly not?: unknown;
  readonly $ref?: string;
  readonly items?: Schema | boolean;
  readonly prefixItems?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly description?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

/** The schemas of a body by content type. */
export type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly object[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>;
}

/** The operations by path and method. */
export type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** The types that a schema states itself; none when it states them by other schemas. */
export function typesOf({ type }: Schema): readonly string[] {
  if (type === undefined) return [];
  return typeof type === 'string' ? [type] : type;
}
