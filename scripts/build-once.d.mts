/** See `build-once.mjs`, which the machine's own Node runs. */
export function hashOf(root: string, sources: readonly string[]): string;
