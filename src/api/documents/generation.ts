import { z } from 'zod';
import { isMissing } from '../../wire/parse-with.ts';
import { inData } from '../../wire/shapes/common.ts';
import { generationShape } from '../../wire/shapes/generation.ts';
import { maxQueryBytes } from '../../wire/shapes/query.ts';
import { documents } from '../document.ts';

export const generationDocument = documents({
  summary: { ko: '생성 기록', en: 'Read the record of a generation' },
  description: {
    ko: '응답이 끝나기 전에도 조회할 수 있습니다. `provider_responses`에는 시도한 후보가 모두 들어 있습니다.',
    en: 'A record can be read before its response ends. `provider_responses` lists every candidate that was tried.',
  },
  query: z.object({
    id: z
      .string()
      .max(maxQueryBytes)
      .min(1, { error: isMissing })
      .describe(
        'The id of the generation, also in the header X-Service-Generation-Id; or the X-Service-Request-Id of a request, including a failed one',
      ),
  }),
  response: { status: 200, shape: inData(generationShape) },
  failures: ['invalid_request', 'not_found'],
});
