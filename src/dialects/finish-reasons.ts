import type { FinishReason } from '../wire/chat.ts';

/**
 * The reasons for which upstreams end a choice, in lower case, by the public one that says the same.
 * `error`: the answer is not complete, whatever the status of the response says.
 */
const natives: Readonly<Record<FinishReason, string>> = {
  stop: 'stop eos eos_token end_turn end stop_sequence stop_sequence_reached complete completed finished normal pause_turn',
  length:
    'length max_tokens max_output_tokens max_length model_length model_context_window_exceeded context_length_exceeded context_window_exceeded token_limit time_limit repetition repetition_truncation',
  tool_calls: 'tool_calls tool_use tool_call function_call tool-calls',
  content_filter:
    'content_filter content-filter content_filtered safety refusal sensitive guardrail_intervened recitation language blocklist prohibited_content spii image_safety image_prohibited_content image_recitation model_armor',
  error:
    'error network_error insufficient_system_resource abort aborted cancelled canceled timeout server_error internal_error overloaded engine_overloaded engine_error preempted failed other unexpected_tool_call malformed_function_call malformed_tool_use malformed_model_output malformed_response too_many_tool_calls missing_thought_signature no_image image_other',
};

const byNative: ReadonlyMap<string, FinishReason> = new Map(
  (Object.entries(natives) as [FinishReason, string][]).flatMap(([reason, words]) =>
    words.split(' ').map((native) => [native, reason] as const),
  ),
);

/**
 * The public reason of an upstream's own; null for an unknown one, which says nothing: whether the
 * answer is complete then follows from the end of the response.
 */
export function finishReasonOf(native: string): FinishReason | null {
  return byNative.get(native) ?? byNative.get(native.toLowerCase()) ?? null;
}
