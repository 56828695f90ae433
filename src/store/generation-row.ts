/** The record of a request that has ended. */
export interface GenerationRow {
  /** 32 hex digits. */
  readonly uuid: string;
  readonly accountId: number;
  readonly keyId: number;
  readonly createdAtMs: number;
  readonly settledAtMs: number;
  /** The Seoul day of `settledAtMs`: the day the debit belongs to (spec:money/7.2). */
  readonly day: number;
  /** The HTTP status that the client received. */
  readonly status: number;
  readonly errorType: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly finishReason: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Micro-won; 0 for a request that is not billed. */
  readonly cost: bigint;
  readonly priceVersion: number | null;
  /** The rest of the record as JSON text. */
  readonly detail: string;
}
