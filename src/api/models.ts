import type { z } from 'zod';
import type { KeyRestrictions } from '../accounts/keys-sql.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { isOffered } from '../routing/restrictions.ts';
import type { Clock } from '../time/clock.ts';
import type { Health } from '../upstreams/health.ts';
import { decodedSegment } from '../wire/path-segment.ts';
import {
  endpointsDocument,
  modelCountDocument,
  modelsDocument,
  userModelsDocument,
} from './documents/models.ts';
import { endpointsBody, modelBody } from './model-object.ts';
import { pageOf } from './model-page.ts';
import { filterOf } from './model-query.ts';
import { sortedBy } from './model-sort.ts';
import { route } from './route.ts';

/** What the model endpoints need. */
export interface ModelRouteParts {
  /** The current catalogue. */
  readonly catalogue: () => Catalogue;
  readonly health: Health;
  readonly clock: Clock;
}

/**
 * The public catalogue (spec:api/11): served from memory, also while the database is unavailable
 * (spec:errors/11.2).
 */
export function modelRoutes({ catalogue, health, clock }: ModelRouteParts) {
  const listing = (
    path: string,
    { query, exchange }: Listing,
    restrictions: KeyRestrictions | null = null,
  ): object => {
    const page = pageOf(query);
    const wanted = filterOf(query, clock.now());
    const offered = catalogue().models.filter((model) => wanted(model) && isOffered(model, restrictions));
    const models = sortedBy(query.sort, health)(offered);
    return {
      data: page.of(models).map(modelBody),
      total_count: models.length,
      links: { next: page.next(path, exchange.queryText, models.length) },
    };
  };
  return [
    route({
      method: 'GET',
      path: '/api/v1/models',
      credential: 'none',
      document: modelsDocument,
      handle: (call) => ({ body: listing('/api/v1/models', call) }),
    }),
    route({
      method: 'GET',
      path: '/api/v1/models/count',
      credential: 'none',
      document: modelCountDocument,
      handle: ({ query }) => {
        const wanted = filterOf(query, clock.now());
        return { body: { data: { count: catalogue().models.filter(wanted).length } } };
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/models/user',
      credential: 'inference',
      document: userModelsDocument,
      handle: (call) => ({ body: listing('/api/v1/models/user', call, call.caller.key.row.restrictions) }),
    }),
    route({
      method: 'GET',
      path: '/api/v1/models/{author}/{slug}/endpoints',
      credential: 'none',
      document: endpointsDocument,
      handle: ({ params }) => {
        const model = catalogue().find(`${decodedSegment(params.author)}/${decodedSegment(params.slug)}`);
        if (model === null) throw refuse('not_found', messages.noSuchModel());
        return { body: { data: endpointsBody(model, health) } };
      },
    }),
  ];
}

/** What a listing takes from its request. */
interface Listing {
  readonly query: z.output<typeof modelsDocument.query>;
  readonly exchange: { readonly queryText: string };
}
