import { type InferenceParts, infer } from '../inference/inference.ts';
import { chatDocument, textDocument } from './documents/inference.ts';
import { route } from './route.ts';

/** The inference endpoints (spec:api/1.5). */
export function inferenceRoutes(parts: InferenceParts) {
  return [
    route({
      method: 'POST',
      path: '/api/v1/chat/completions',
      credential: 'inference',
      document: chatDocument,
      handle: (call) => infer(parts, 'chat', call),
      onRefused: (refused) => parts.refusals.note({ ...refused, endpoint: 'chat' }),
    }),
    route({
      method: 'POST',
      path: '/api/v1/completions',
      credential: 'inference',
      document: textDocument,
      handle: (call) => infer(parts, 'text', call),
      onRefused: (refused) => parts.refusals.note({ ...refused, endpoint: 'text' }),
    }),
  ];
}
