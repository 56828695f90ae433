/**
 * Why a replica is in its state, in words for the log and the command line; `{}` is a detail. The
 * pages have the same in both languages. What an engine or Kubernetes said is not among them.
 */
export const slotReasons = {
  never_started: 'never started',
  waits_for_memory: 'waits for memory',
  removed: 'removed from the configuration',
  not_ready_in_time: 'not ready within {} ms',
  did_not_sleep: 'did not fall asleep',
  did_not_wake: 'did not wake up',
  stopped: 'stopped',
  closed: 'closed',
  no_longer_requested: 'no longer requested',
  starting: 'starting',
  silent: 'silent for {} ms, and its probe gets no response',
  refused_request: 'did not take a request',
  waking: 'waking up',
  requested: 'requested',
  warming: 'warming up',
  ready: 'ready',
  idle: 'idle',
  makes_room: 'makes room for another slot on GPU {}',
} as const;

export type SlotReasonCode = keyof typeof slotReasons;

/** A reason in words. */
export function slotReason(code: SlotReasonCode, detail: string | number = ''): string {
  return slotReasons[code].replace('{}', () => String(detail));
}

const forms = (Object.keys(slotReasons) as SlotReasonCode[]).map((code) => {
  const [before = '', after = null] = slotReasons[code].split('{}');
  return { code, before, after };
});

/** The code and the detail of a reason; null for the words of an engine or of Kubernetes. */
export function readSlotReason(
  reason: string,
): { readonly code: SlotReasonCode; readonly detail: string } | null {
  for (const { code, before, after } of forms) {
    if (after === null && reason === before) return { code, detail: '' };
    if (after !== null && reason.startsWith(before) && reason.endsWith(after))
      return { code, detail: reason.slice(before.length, reason.length - after.length) };
  }
  return null;
}
