/** The words of the API reference, in both languages of the API document. */

export type Language = 'en' | 'ko';

/** A text in both. */
type Words = Readonly<Record<Language, string>>;

export const words = {
  reference: { en: 'API reference', ko: 'API 참조' },
  endpoints: { en: 'Endpoints', ko: '엔드포인트' },
  endpoint: { en: 'Endpoint', ko: '엔드포인트' },
  what: { en: 'What it does', ko: '설명' },
  path: { en: 'Path', ko: '경로' },
  credential: { en: 'Credential', ko: '인증' },
  parameters: { en: 'Parameters', ko: '매개변수' },
  request: { en: 'Request body', ko: '요청 본문' },
  response: { en: 'Response', ko: '응답' },
  stream: { en: 'Event of a stream', ko: '스트림의 이벤트' },
  errors: { en: 'Errors', ko: '오류' },
  field: { en: 'Field', ko: '필드' },
  type: { en: 'Type', ko: '형식' },
  required: { en: 'Required', ko: '필수' },
  meaning: { en: 'Meaning', ko: '의미' },
  place: { en: 'In', ko: '위치' },
  status: { en: 'Status', ko: '상태 코드' },
  retry: { en: 'A retry can help', ko: '재시도 가능' },
  yes: { en: 'yes', ko: '예' },
  no: { en: 'no', ko: '아니요' },
  example: { en: 'Example', ko: '예시' },
  none: { en: 'none', ko: '필요 없음' },
  inference: { en: 'an inference key', ko: '추론 키' },
  management: { en: 'a management key', ko: '관리 키' },
  either: { en: 'an inference or a management key', ko: '추론 키 또는 관리 키' },
  asBearer: { en: 'in the header `Authorization: Bearer …`', ko: '`Authorization: Bearer …` 헤더' },
  limits: {
    en: 'Every error and its further members: [limits and errors](../spec/limits-and-errors.md).',
    ko: '모든 오류와 추가 항목은 [오류](index.md#오류)를 확인해 주세요.',
  },
} as const satisfies Readonly<Record<string, Words>>;
