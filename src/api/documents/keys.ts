import { z } from 'zod';
import { inData } from '../../wire/shapes/common.ts';
import {
  createdKeyShape,
  creditsShape,
  deletedKeyShape,
  keyChangeShape,
  keyInformationShape,
  keyShape,
  newKeyShape,
} from '../../wire/shapes/keys.ts';
import { documents } from '../document.ts';

const own = {
  ko: '관리 키로 자기 계정의 키만 다룹니다. 없는 키와 남의 키는 똑같은 404로 답합니다.',
  en: 'A management key handles the keys of its own account. A key that does not exist and a key of somebody else give the same 404.',
};

export const listKeysDocument = documents({
  summary: { ko: '키 목록', en: 'List keys' },
  description: {
    ko: '새 키부터 한 쪽에 100개. 폐기한 키는 나오지 않습니다.',
    en: 'Newest first, 100 a page. Revoked keys are not listed.',
  },
  query: z.object({
    offset: z.int().min(0).optional().describe('How many to skip'),
    include_disabled: z
      .enum(['true', 'false'])
      .optional()
      .describe('false leaves out keys that are off or suspended'),
  }),
  answer: { status: 200, shape: inData(z.array(keyShape)) },
  failures: ['invalid_request'],
});

export const createKeyDocument = documents({
  summary: { ko: '키 만들기', en: 'Create a key' },
  description: {
    ko: '추론 키를 만듭니다. 평문은 이 응답의 `key`에만 있습니다.',
    en: 'Creates an inference key. Its plaintext is in `key` of this answer and nowhere else.',
  },
  body: newKeyShape,
  answer: { status: 201, shape: createdKeyShape },
  failures: ['invalid_request'],
  example: { body: { name: 'my app', limit: 5000, limit_reset: 'monthly' } },
});

export const readKeyDocument = documents({
  summary: { ko: '키 읽기', en: 'Read a key' },
  description: own,
  answer: { status: 200, shape: inData(keyShape) },
  failures: ['not_found'],
});

export const changeKeyDocument = documents({
  summary: { ko: '키 바꾸기', en: 'Change a key' },
  description: {
    ko: '보낸 항목만 바뀝니다. `limit`을 빼는 것과 `null`로 보내는 것은 다릅니다: `null`은 한도를 없앱니다.',
    en: 'Only what is sent changes. Leaving `limit` out is not sending `null`: null removes the limit.',
  },
  body: keyChangeShape,
  answer: { status: 200, shape: inData(keyShape) },
  failures: ['invalid_request', 'not_found'],
  example: { body: { name: 'renamed' } },
});

export const revokeKeyDocument = documents({
  summary: { ko: '키 폐기', en: 'Revoke a key' },
  description: {
    ko: '키를 영구히 폐기합니다. 되풀이해도 같은 답입니다.',
    en: 'Revokes a key for good. Doing it again gives the same answer.',
  },
  answer: { status: 200, shape: deletedKeyShape },
  failures: ['not_found'],
});

export const keyInformationDocument = documents({
  summary: { ko: '이 키의 정보', en: 'Read the key that asks' },
  description: {
    ko: '한도와 사용액, 서울 시간 기준.',
    en: 'Its limit and its spend, by periods of Asia/Seoul.',
  },
  answer: { status: 200, shape: inData(keyInformationShape) },
  failures: [],
});

export const creditsDocument = documents({
  summary: { ko: '크레딧', en: 'Read the credits' },
  description: {
    ko: '잔액은 `total_credits - total_usage`입니다.',
    en: 'The balance is `total_credits - total_usage`.',
  },
  answer: { status: 200, shape: inData(creditsShape) },
  failures: [],
});
