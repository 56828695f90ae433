import { joinDetails, type ReasoningDetail } from '../../wire/reasoning-details.ts';

/** A reasoning entry that a client returned. */
export interface ReturnedReasoning {
  readonly text: string;
  readonly signature: string | null;
  /** Its encrypted data, which only its provider can read. */
  readonly encrypted: string | null;
  readonly toolCallId: string | null;
}

/**
 * The reasoning entries of an assistant message with this `format`, in order; invalid ones and
 * other formats are omitted.
 */
export function readDetails(value: unknown, format: string): readonly ReturnedReasoning[] {
  if (!Array.isArray(value)) return [];
  const own = value
    .filter(
      (entry): entry is Readonly<Record<string, unknown>> => typeof entry === 'object' && entry !== null,
    )
    .filter((entry) => entry['format'] == null || entry['format'] === format)
    .flatMap((entry, position) => detailOf(entry, position));
  return joinDetails(own).map(({ text, signature, data, id }) => ({
    text: text ?? '',
    signature: signature ?? null,
    encrypted: data ?? null,
    toolCallId: id ?? null,
  }));
}

function detailOf(entry: Readonly<Record<string, unknown>>, position: number): readonly ReasoningDetail[] {
  const { type, text, signature, data, id } = entry;
  const index = Number.isSafeInteger(entry['index']) ? Number(entry['index']) : position;
  const common = { format: '', index, ...(typeof id === 'string' ? { id } : {}) };
  if (type === 'reasoning.encrypted' && typeof data === 'string') return [{ type, data, ...common }];
  if (type !== 'reasoning.text') return [];
  return [
    {
      type,
      ...(typeof text === 'string' ? { text } : {}),
      ...(typeof signature === 'string' ? { signature } : {}),
      ...common,
    },
  ];
}
