import type { SettlementRow } from '../../src/ledger/settlement-sql.ts';
import { seoulDayAt } from '../../src/time/period.ts';
import { newGenerationUuid, withLead } from '../../src/wire/ids/generation-id.ts';

/**
 * The settlement of a request that ended at `atMs` with status 200, at no cost; `more` replaces
 * members.
 */
export function settlementAt(
  atMs: number,
  more: Partial<SettlementRow> & Pick<SettlementRow, 'accountId' | 'keyId'>,
): SettlementRow {
  return {
    uuid: withLead(newGenerationUuid(atMs), more.accountId),
    createdAtMs: atMs,
    settledAtMs: atMs,
    day: seoulDayAt(atMs),
    status: 200,
    errorType: null,
    model: 'test/echo',
    provider: 'up',
    finishReason: 'stop',
    promptTokens: 10,
    completionTokens: 5,
    cost: 0n,
    priceVersion: null,
    detail: '{}',
    app: null,
    ...more,
  };
}
