/** See `npm.mjs`, which the machine's own Node runs. */
export function npmCommand(): readonly [string, ...string[]];
