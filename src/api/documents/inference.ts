import {
  chatChunkShape,
  chatResponseShape,
  textChunkShape,
  textResponseShape,
} from '../../wire/shapes/chat.ts';
import { chatRequestShape, textRequestShape } from '../../wire/shapes/requests.ts';
import { documents } from '../document.ts';

const failures = [
  'key_limit_exceeded',
  'invalid_request',
  'model_not_found',
  'no_endpoints_found',
  'timeout',
  'provider_error',
  'rejected_upstream',
  'model_loading',
] as const;

const streaming = {
  ko: '`stream: true`이면 Server-Sent Events로 응답합니다. 첫 바이트를 보낸 뒤의 오류는 `error`가 있는 이벤트로 전달되고 `[DONE]`으로 끝납니다. 비용은 `usage.cost`에 원 단위로 표시되며, 응답이 끝나기 전에 원장에 기록됩니다.',
  en: 'With `stream: true`, the response is a stream of Server-Sent Events. After the first byte, an error is an event with `error`; `[DONE]` ends the stream. `usage.cost` is the cost in won, which is recorded in the ledger before the response ends.',
};

export const chatDocument = documents({
  summary: { ko: '채팅 완성', en: 'Create a chat completion' },
  description: streaming,
  body: chatRequestShape,
  response: { status: 200, shape: chatResponseShape },
  event: chatChunkShape,
  failures,
  example: { body: { model: 'naru/demo', messages: [{ role: 'user', content: '나루가 뭐야?' }] } },
});

export const textDocument = documents({
  summary: { ko: '텍스트 완성', en: 'Create a text completion' },
  description: streaming,
  body: textRequestShape,
  response: { status: 200, shape: textResponseShape },
  event: textChunkShape,
  failures,
  example: { body: { model: 'naru/demo', prompt: 'Naru is', max_tokens: 16 } },
});
