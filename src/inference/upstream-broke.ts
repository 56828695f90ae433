/** An upstream that had begun to answer stopped being one: it broke off, fell silent, said an error or nonsense. */
export class UpstreamBroke extends Error {
  override readonly name = 'UpstreamBroke';
  /** The status that it named for it, or that its silence amounts to; null when there was none. */
  readonly status: number | null;
  readonly timedOut: boolean;

  constructor(message: string, how: { readonly status?: number | null; readonly timedOut?: boolean } = {}) {
    super(message);
    this.status = how.status ?? null;
    this.timedOut = how.timedOut ?? false;
  }
}
