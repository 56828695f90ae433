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
import { anyCaseBooleanText, integerText } from '../../wire/shapes/query.ts';
import { documents } from '../document.ts';

const own = {
  ko: '관리 키로 해당 계정의 키만 관리할 수 있습니다. 없는 키와 다른 계정의 키에는 똑같이 404를 반환합니다.',
  en: 'A management key manages the keys of its own account. A key that does not exist and a key of another account return the same 404.',
};

export const listKeysDocument = documents({
  summary: { ko: '키 목록', en: 'List keys' },
  description: {
    ko: '최근에 만든 키부터 한 페이지에 100개씩 반환합니다. 폐기한 키는 포함되지 않습니다.',
    en: 'Returns 100 keys per page, newest first. Revoked keys are not included.',
  },
  query: z.object({
    offset: integerText(0).optional().describe('Number of keys to skip'),
    include_disabled: anyCaseBooleanText().optional().describe('false omits disabled and suspended keys'),
  }),
  response: { status: 200, shape: inData(z.array(keyShape)) },
  failures: ['invalid_request'],
});

export const createKeyDocument = documents({
  summary: { ko: '키 생성', en: 'Create a key' },
  description: {
    ko: '추론 키를 생성합니다. 키 원문은 이 응답의 `key`에만 표시됩니다.',
    en: 'Creates an inference key. The plaintext key is only in `key` of this response.',
  },
  body: newKeyShape,
  response: { status: 201, shape: createdKeyShape },
  failures: ['invalid_request'],
  example: { body: { name: 'my app', limit: 5000, limit_reset: 'monthly' } },
});

export const readKeyDocument = documents({
  summary: { ko: '키 조회', en: 'Read a key' },
  description: own,
  response: { status: 200, shape: inData(keyShape) },
  failures: ['not_found'],
});

export const changeKeyDocument = documents({
  summary: { ko: '키 수정', en: 'Change a key' },
  description: {
    ko: '보낸 항목만 변경됩니다. `limit`을 생략하면 한도가 유지되고, `null`을 보내면 한도가 해제됩니다.',
    en: 'Changes only the members that are sent. Omit `limit` to keep the limit; send `null` to remove it.',
  },
  body: keyChangeShape,
  response: { status: 200, shape: inData(keyShape) },
  failures: ['invalid_request', 'not_found'],
  example: { body: { name: 'renamed' } },
});

export const revokeKeyDocument = documents({
  summary: { ko: '키 폐기', en: 'Revoke a key' },
  description: {
    ko: '키를 영구적으로 폐기합니다. 반복해도 같은 응답을 반환합니다.',
    en: 'Revokes the key permanently. A repeated request returns the same response.',
  },
  response: { status: 200, shape: deletedKeyShape },
  failures: ['not_found'],
});

export const keyInformationDocument = documents({
  summary: { ko: '현재 키 정보', en: 'Read the current key' },
  description: {
    ko: '이 키의 한도와 사용액을 한국 시간 기준으로 반환합니다.',
    en: 'Returns the limit and the spend of the key. Periods are in Korean time (KST).',
  },
  response: { status: 200, shape: inData(keyInformationShape) },
  failures: [],
});

export const creditsDocument = documents({
  summary: { ko: '크레딧', en: 'Read the credit balance' },
  description: {
    ko: '잔액은 `total_credits - total_usage`입니다.',
    en: 'The balance is `total_credits - total_usage`.',
  },
  response: { status: 200, shape: inData(creditsShape) },
  failures: [],
});
