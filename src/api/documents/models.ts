import { z } from 'zod';
import { endpointsShape, modelCountShape, modelsShape, providersShape } from '../../wire/shapes/models.ts';
import { documents } from '../document.ts';
import { pageShapes } from '../model-page.ts';
import { filterShapes } from '../model-query.ts';
import { sortShape } from '../model-sort.ts';

const listing = z.object({ ...filterShapes, ...pageShapes, sort: sortShape });

const listed = {
  ko: '가격은 토큰당 원(KRW)이며, 소수를 담은 문자열입니다. API 키 없이 호출할 수 있습니다.',
  en: 'Prices are in won (KRW) per token, as decimal strings. No API key is required.',
};

export const modelsDocument = documents({
  summary: { ko: '모델 목록', en: 'List the models' },
  description: listed,
  query: listing,
  response: { status: 200, shape: modelsShape },
  failures: ['invalid_request'],
});

export const modelCountDocument = documents({
  summary: { ko: '모델 수', en: 'Count the models' },
  description: {
    ko: '모델 목록과 같은 필터를 적용한 모델 수를 반환합니다.',
    en: 'Returns the number of models that match the filters of the list.',
  },
  query: z.object(filterShapes),
  response: { status: 200, shape: modelCountShape },
  failures: ['invalid_request'],
});

export const userModelsDocument = documents({
  summary: { ko: '이 키로 사용할 수 있는 모델', en: 'List the models that the key can use' },
  description: {
    ko: '추론 키로 사용할 수 있는 모델을 반환합니다.',
    en: 'Returns the models that an inference key may use.',
  },
  query: listing,
  response: { status: 200, shape: modelsShape },
  failures: ['invalid_request'],
});

export const endpointsDocument = documents({
  summary: { ko: '모델의 후보', en: 'List the candidates of a model' },
  description: {
    ko: '후보마다 가격과 최근 30분의 지연 시간, 속도, 가동률을 반환합니다. 트래픽이 없었으면 null입니다.',
    en: 'Returns the price of each candidate, and its latency, throughput and uptime over the last 30 minutes; null without traffic.',
  },
  response: { status: 200, shape: endpointsShape },
  failures: ['not_found'],
});

export const providersDocument = documents({
  summary: { ko: '제공자 목록', en: 'List the providers' },
  description: {
    ko: '자체 슬롯은 모두 하나의 제공자로 표시됩니다.',
    en: 'All local slots appear as one provider.',
  },
  response: { status: 200, shape: providersShape },
  failures: [],
});
