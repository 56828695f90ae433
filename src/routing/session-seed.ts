import type { CompletionRequest } from '../wire/chat.ts';
import type { RoutingContext } from './plan.ts';

/**
 * What draws the order of candidates that share a place: the session of an account, so that its requests meet the prompt cache that
 * they filled, else `fresh`, something that no other request has. A session is named by `session_id`, or as OpenRouter does it by
 * `prompt_cache_key`; the sessions of two accounts are never one.
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
