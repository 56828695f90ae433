import { refuse } from '../errors/catalogue.ts';
import { messages } from '../errors/messages.ts';
import { generationBody } from '../generations/generation.ts';
import type { findGeneration } from '../generations/generations-sql.ts';
import type { Refusals } from '../inference/refusals.ts';
import type { Settlements } from '../ledger/settlements.ts';
import { parseGenerationId } from '../wire/ids/generation-id.ts';
import { generationOfRequest } from '../wire/ids/request-id.ts';
import { generationDocument } from './documents/generation.ts';
import { route } from './route.ts';

/** What reading a record needs. */
export interface GenerationParts {
  readonly settlements: Pick<Settlements, 'find'>;
  readonly refusals: Pick<Refusals, 'find'>;
  /** The record that counts a refused request as a later one. */
  readonly readRefusal: (accountId: number, uuid: string) => ReturnType<typeof findGeneration>;
  readonly readGeneration: (accountId: number, uuid: string) => ReturnType<typeof findGeneration>;
}

/**
 * `GET /generation`: readable before the last byte of its response has been sent (spec:api/16.3),
 * by the id of the generation or by the request id of any response or error (spec:api/16.2).
 */
export function generationRoutes({
  settlements,
  refusals,
  readGeneration: read,
  readRefusal,
}: GenerationParts) {
  return [
    route({
      method: 'GET',
      path: '/api/v1/generation',
      credential: 'inference',
      document: generationDocument,
      handle: async ({ query, caller }) => {
        const { id } = query;
        const asRequest = generationOfRequest(id);
        const uuid = parseGenerationId(id) ?? asRequest;
        const pending = uuid === null ? undefined : (settlements.find(uuid) ?? refusals.find(uuid));
        const own = pending?.accountId === caller.accountId ? pending : null;
        const row =
          own ??
          (uuid === null ? null : await read(caller.accountId, uuid)) ??
          (asRequest === null ? null : await readRefusal(caller.accountId, asRequest));
        // The same response for "does not exist" and "belongs to another account".
        if (row === null) throw refuse('not_found', messages.noSuchGeneration());
        return { body: { data: generationBody(row) } };
      },
    }),
  ];
}
