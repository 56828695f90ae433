import type { Delta, ToolCallDelta } from '../../wire/chat.ts';
import { joinDetails, type ReasoningDetail } from '../../wire/reasoning-details.ts';

/** Merges deltas into one. */
export function joinDeltas(deltas: readonly Delta[]): Delta {
  const texts = (member: 'content' | 'reasoning'): object => {
    const stated = deltas.flatMap((delta) => delta[member] ?? []);
    return stated.length === 0 ? {} : { [member]: stated.join('') };
  };
  const calls = new Map<number, ToolCallDelta>();
  for (const call of deltas.flatMap((delta) => delta.tool_calls ?? [])) {
    const begun = calls.get(call.index);
    const args = `${begun?.function.arguments ?? ''}${call.function.arguments ?? ''}`;
    calls.set(call.index, {
      ...begun,
      ...call,
      function: { ...begun?.function, ...call.function, arguments: args },
    });
  }
  const details = deltas.flatMap((delta) => (delta.reasoning_details ?? []) as readonly ReasoningDetail[]);
  return {
    ...texts('content'),
    ...texts('reasoning'),
    ...shown(joinDetails(details)),
    ...(calls.size === 0 ? {} : { tool_calls: [...calls.values()] }),
  };
}

/** The entries as a member of a delta; absent when there are none. */
export function shown(details: readonly ReasoningDetail[]): {
  readonly reasoning_details?: readonly ReasoningDetail[];
} {
  return details.length === 0 ? {} : { reasoning_details: details };
}
