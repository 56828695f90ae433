import type { Secret } from './secret.ts';

/** Readonly in every depth. */
export type Frozen<T> = T extends Secret | string | bigint ? T : { readonly [N in keyof T]: Frozen<T[N]> };

/** Freezes a value deeply: objects, lists and their content. */
export function freezeDeep<T>(value: T): Frozen<T> {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const inner of Object.values(value)) freezeDeep(inner);
    Object.freeze(value);
  }
  return value as Frozen<T>;
}
