import type { App } from '../generations/apps-sql.ts';
import type { SettlementRow } from './settlement-sql.ts';

/** The types of the journal's records: a request was admitted; a request is settled. */
export const openType = 1;
export const finalType = 2;

/**
 * What is known of a request when it is admitted: enough to record it as failed if nothing follows.
 */
export interface OpenRecord {
  readonly uuid: string;
  readonly accountId: number;
  readonly keyId: number;
  readonly createdAtMs: number;
  /**
   * The record's detail as JSON text. Its member `app` repeats `app`, which is therefore not
   * journaled by itself.
   */
  readonly detail: string;
  readonly app: App | null;
}

/** The journal's payload of an admitted request. */
export function encodeOpen(record: OpenRecord): string {
  return `["${record.uuid}",${record.accountId},${record.keyId},${record.createdAtMs},${record.detail}]`;
}

/** The journal's payload of a settlement. */
export function encodeFinal(row: SettlementRow): string {
  return finalParts(row).join('');
}

/** The same in parts: the record's detail is not copied. */
export function finalParts(row: SettlementRow): readonly string[] {
  const head = JSON.stringify([
    row.uuid,
    row.accountId,
    row.keyId,
    row.createdAtMs,
    row.settledAtMs,
    row.day,
    row.status,
    row.errorType,
    row.model,
    row.provider,
    row.finishReason,
    row.promptTokens,
    row.completionTokens,
    String(row.cost),
    row.priceVersion,
  ]);
  return [head.slice(0, -1), ',', row.detail, ']'];
}

/** Decodes `encodeOpen`. The journal has checked the bytes, so the shape is what was written. */
export function decodeOpen(payload: string): OpenRecord {
  const [uuid, accountId, keyId, createdAtMs, detail] = JSON.parse(payload) as [
    string,
    number,
    number,
    number,
    Detail,
  ];
  return { uuid, accountId, keyId, createdAtMs, detail: JSON.stringify(detail), app: detail.app ?? null };
}

/** Decodes `encodeFinal`. */
export function decodeFinal(payload: string): SettlementRow {
  const [
    uuid,
    accountId,
    keyId,
    createdAtMs,
    settledAtMs,
    day,
    status,
    errorType,
    model,
    provider,
    finishReason,
    promptTokens,
    completionTokens,
    cost,
    priceVersion,
    detail,
  ] = JSON.parse(payload) as FinalCells;
  return {
    uuid,
    accountId,
    keyId,
    createdAtMs,
    settledAtMs,
    day,
    status,
    errorType,
    model,
    provider,
    finishReason,
    promptTokens,
    completionTokens,
    cost: BigInt(cost),
    priceVersion,
    detail: JSON.stringify(detail),
    app: detail.app ?? null,
  };
}

interface Detail {
  readonly app?: App | null;
}

type FinalCells = [
  uuid: string,
  accountId: number,
  keyId: number,
  createdAtMs: number,
  settledAtMs: number,
  day: number,
  status: number,
  errorType: string | null,
  model: string | null,
  provider: string | null,
  finishReason: string | null,
  promptTokens: number,
  completionTokens: number,
  cost: string,
  priceVersion: number | null,
  detail: Detail,
];
