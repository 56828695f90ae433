import { type Krw, krwOfMicro, krwToText } from '../money/krw.ts';

/** The languages of messages. */
export const messageLanguages = ['ko', 'en'] as const;
export type MessageLanguage = (typeof messageLanguages)[number];

/** Facts of an event. Amounts are micro-won as text. */
export type EventData = Readonly<Record<string, string | number | null>>;

type Words = (data: EventData) => readonly [subject: string, text: string];

interface Kind {
  readonly audience: 'owner' | 'operators';
  /** The page that it is about, below the origin of its area. */
  readonly page: string;
  readonly ko: Words;
  readonly en: Words;
}

/** What messages are about, and their words. The names are those of webhooks. */
const kinds = {
  'balance.low': {
    audience: 'owner',
    page: '/dashboard/credits',
    ko: ({ balance_micro, days_left }) => [
      '잔액이 얼마 남지 않았습니다',
      `현재 잔액은 ${won(balance_micro)}입니다. 최근 7일의 속도로 약 ${days_left}일 동안 사용할 수 있습니다.`,
    ],
    en: ({ balance_micro, days_left }) => [
      'The balance is low',
      `The balance is ${won(balance_micro)}. At the pace of the last 7 days it lasts about ${days_left} days.`,
    ],
  },
  'key.limit_near': {
    audience: 'owner',
    page: '/dashboard/keys',
    ko: ({ key_name, spent_micro, limit_micro }) => [
      'API 키가 한도의 80%를 넘었습니다',
      `‘${name(key_name)}’ 키는 한도 ${won(limit_micro)} 중 ${won(spent_micro)}을 사용했습니다.`,
    ],
    en: ({ key_name, spent_micro, limit_micro }) => [
      'An API key has used 80% of its limit',
      `The key “${name(key_name)}” has spent ${won(spent_micro)} of its limit of ${won(limit_micro)}.`,
    ],
  },
  'key.limit_reached': {
    audience: 'owner',
    page: '/dashboard/keys',
    ko: ({ key_name, limit_micro }) => [
      'API 키가 한도에 도달했습니다',
      `‘${name(key_name)}’ 키는 한도 ${won(limit_micro)}을 모두 사용했으므로 요청이 거부됩니다.`,
    ],
    en: ({ key_name, limit_micro }) => [
      'An API key has reached its limit',
      `The key “${name(key_name)}” has spent its limit of ${won(limit_micro)}: its requests are rejected.`,
    ],
  },
  'topup.confirmed': {
    audience: 'owner',
    page: '/dashboard/credits',
    ko: ({ topup_id, amount_micro }) => [
      '충전이 완료되었습니다',
      `충전 요청 ${topup_id}: ${won(amount_micro)}이 충전되었습니다.`,
    ],
    en: ({ topup_id, amount_micro }) => [
      'A top-up was confirmed',
      `Top-up request ${topup_id}: ${won(amount_micro)} was added.`,
    ],
  },
  'topup.rejected': {
    audience: 'owner',
    page: '/dashboard/credits',
    ko: ({ topup_id, amount_micro }) => [
      '충전 요청이 거절되었습니다',
      `충전 요청 ${topup_id}(${won(amount_micro)})이 거절되었습니다. 이유는 크레딧 화면에 있습니다.`,
    ],
    en: ({ topup_id, amount_micro }) => [
      'A top-up request was rejected',
      `Top-up request ${topup_id} (${won(amount_micro)}) was rejected. The credit page has the reason.`,
    ],
  },
  'topup.requested': {
    audience: 'operators',
    page: '/console/top-ups',
    ko: ({ topup_id, account_id, amount_micro }) => [
      '새 충전 요청이 있습니다',
      `계정 ${account_id}: 충전 요청 ${topup_id}, ${won(amount_micro)}.`,
    ],
    en: ({ topup_id, account_id, amount_micro }) => [
      'A top-up was requested',
      `Account ${account_id}: top-up request ${topup_id}, ${won(amount_micro)}.`,
    ],
  },
  'slot.failing': {
    audience: 'operators',
    page: '/console/slots',
    ko: ({ slot, host, failures }) => [
      '슬롯이 시작되지 않습니다',
      `${name(host)} 서버의 ‘${name(slot)}’ 슬롯이 연속으로 ${failures}번 실패했습니다.`,
    ],
    en: ({ slot, host, failures }) => [
      'A slot does not start',
      `The slot “${name(slot)}” of ${name(host)} has failed ${failures} times in a row.`,
    ],
  },
  'verification.failed': {
    audience: 'operators',
    page: '/console/books',
    ko: ({ differences }) => ['원장 검증에서 차이를 찾았습니다', `찾은 차이는 ${differences}개입니다.`],
    en: ({ differences }) => [
      'The verification of the ledger failed',
      `It found ${differences} differences.`,
    ],
  },
} as const satisfies Readonly<Record<string, Kind>>;

/** A kind that people choose. */
export type MessageKind = keyof typeof kinds;

/** The kinds for owners of accounts, or for operators. */
export function kindsFor(audience: Kind['audience']): readonly MessageKind[] {
  return (Object.keys(kinds) as MessageKind[]).filter((kind) => kinds[kind].audience === audience);
}

/** The words of a message, and the page that it leads to; no text of them has a line break. */
export function wordsOf(
  kind: string,
  language: MessageLanguage,
  data: EventData,
): { readonly subject: string; readonly text: string; readonly page: string } {
  const known: Kind | undefined = Object.hasOwn(kinds, kind) ? kinds[kind as MessageKind] : undefined;
  if (known === undefined) {
    const text =
      language === 'ko'
        ? ['테스트 메시지', '알림이 올바르게 도착했습니다.']
        : ['Test message', 'Messages arrive here.'];
    return { subject: text[0] as string, text: text[1] as string, page: '' };
  }
  const [subject, text] = known[language](data);
  return { subject, text, page: known.page };
}

function won(micro: string | number | null | undefined): string {
  return `₩${krwToText(krwOf(micro))}`;
}

function krwOf(micro: string | number | null | undefined): Krw {
  return krwOfMicro(BigInt(micro ?? 0));
}

/** A name from outside: of one line, bounded, without characters that hide or turn the rest. */
function name(text: string | number | null | undefined): string {
  const plain = String(text ?? '').replace(/\p{C}+/gu, ' ');
  return plain.length > 100 ? `${plain.slice(0, 99).replace(/\p{Surrogate}$/u, '')}…` : plain;
}
