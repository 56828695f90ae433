/** See `restart-policy.mjs`, which the machine's own Node runs. */
export class RestartPolicy {
  ended(end: { readonly code: number | null; readonly servedMs: number | null }): number | null;
}
