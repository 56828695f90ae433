import { newGenerationUuid } from '../src/ids/generation-id.ts';
import { framingBytes } from '../src/journal/record.ts';
import { encodeFinal, encodeOpen } from '../src/ledger/journal-records.ts';
import type { SettlementRow } from '../src/ledger/settlement-sql.ts';
import { seoulDayAt } from '../src/time/period.ts';

/** Accounts that the settlements of a measurement are spread over, two keys each. */
export const ACCOUNTS = 10_000;

const app = { id: 281_474_976_710_001, name: 'A chat client', url: 'https://chat.example' };
const detail = {
  request_id: 'req_0123456789abcdef0123456789abcdef',
  api_type: 'completions',
  endpoint: 'chat',
  http_referer: 'https://chat.example',
  title: 'A chat client',
  user_agent: 'OpenAI/JS 7.55.0',
  app,
};
const responded = {
  ...detail,
  requested_models: ['openai/gpt-5.4-mini'],
  streamed: true,
  external_user: null,
  session_id: null,
  media_parts: 0,
  attempts: [{ provider: 'openai', model: 'gpt-5.4-mini', status: 200, ms: 1234, first_byte_ms: 345 }],
  upstream_id: 'chatcmpl-0123456789abcdef0123456789',
  latency_ms: 345,
  generation_ms: 1234,
  cache_read_tokens: 128,
  reasoning_tokens: 0,
};

/** A generation as a chat client makes them: streamed, one attempt, with an app. */
export function settlement(accountId: number, nowMs: number): SettlementRow {
  return {
    uuid: newGenerationUuid(nowMs),
    accountId,
    keyId: accountId * 2 + (Math.random() < 0.5 ? 0 : 1),
    createdAtMs: nowMs - 1500,
    settledAtMs: nowMs,
    day: seoulDayAt(nowMs),
    status: 200,
    errorType: null,
    model: 'openai/gpt-5.4-mini',
    provider: 'openai',
    finishReason: 'stop',
    promptTokens: 1200,
    completionTokens: 300,
    cost: 1_234_567n,
    priceVersion: 1,
    detail: JSON.stringify(responded),
    app,
  };
}

/** A batch over random accounts, some of them more than once. */
export function batch(size: number, nowMs: number): readonly SettlementRow[] {
  return Array.from({ length: size }, () => settlement(1 + Math.floor(Math.random() * ACCOUNTS), nowMs));
}

/** What one request writes into the journal, frames included. */
export function journalBytes(nowMs: number): { readonly open: number; readonly final: number } {
  const row = settlement(ACCOUNTS, nowMs);
  const open = encodeOpen({ ...row, detail: JSON.stringify(detail) });
  return {
    open: framingBytes + Buffer.byteLength(open),
    final: framingBytes + Buffer.byteLength(encodeFinal(row)),
  };
}
