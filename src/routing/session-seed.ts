import type { CompletionRequest } from '../wire/chat.ts';
import type { RoutingContext } from './plan.ts';

/**
 * The seed for the order of candidates with the same position: the session of an account, so that
 * its requests reach the prompt cache that they filled, else `fresh`, which is unique to the
 * request. A session is named by `session_id`, or as in OpenRouter by `prompt_cache_key`; two
 * accounts never share a session.
 */
export function seedOf(
  { sessionId, parameters }: Pick<CompletionRequest, 'sessionId' | 'parameters'>,
  accountId: number,
  fresh: string,
): Pick<RoutingContext, 'seed' | 'isSession'> {
  const session = sessionId ?? parameters['prompt_cache_key'];
  return typeof session === 'string' && session !== ''
    ? { seed: `${accountId}\0${session}`, isSession: true }
    : { seed: fresh, isSession: false };
}
