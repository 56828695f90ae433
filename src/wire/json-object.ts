/** A JSON object as it was received, unchecked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object, which a list is not. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member of a JSON object; undefined where there is no object, or no such member. */
export function memberIn(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}
