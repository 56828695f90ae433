import { chatAskShape, textAskShape } from '../../wire/shapes/asks.ts';
import { chatAnswerShape, chatChunkShape, textAnswerShape, textChunkShape } from '../../wire/shapes/chat.ts';
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
  ko: '`stream: true`이면 Server-Sent Events로 답합니다. 첫 바이트 뒤의 오류는 `error`가 있는 이벤트로 오고 `[DONE]`으로 끝납니다. 비용은 `usage.cost`에 원 단위로 들어 있으며, 응답이 끝나기 전에 원장에 기록됩니다.',
  en: 'With `stream: true` the answer comes as Server-Sent Events; after the first byte an error is an event with `error`, and `[DONE]` ends the stream. The cost is in `usage.cost`, in won, and is in the ledger before the answer ends.',
};

export const chatDocument = documents({
  summary: { ko: '대화에 답하기', en: 'Answer a conversation' },
  description: streaming,
  body: chatAskShape,
  answer: { status: 200, shape: chatAnswerShape },
  event: chatChunkShape,
  failures,
  example: { body: { model: 'naru/demo', messages: [{ role: 'user', content: '나루가 뭐야?' }] } },
});

export const textDocument = documents({
  summary: { ko: '글 이어 쓰기', en: 'Continue a text' },
  description: streaming,
  body: textAskShape,
  answer: { status: 200, shape: textAnswerShape },
  event: textChunkShape,
  failures,
  example: { body: { model: 'naru/demo', prompt: 'Naru is', max_tokens: 16 } },
});
