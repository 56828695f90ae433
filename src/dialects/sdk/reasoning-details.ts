/**
 * An entry of `reasoning_details` in the original's shapes. A stream gives a thought in pieces, each with the thought's `index`;
 * a client sends them back as they came, or joined.
 */
export interface ReasoningDetail {
  readonly type: 'reasoning.text' | 'reasoning.encrypted';
  readonly text?: string;
  readonly signature?: string;
  readonly data?: string;
  /** The tool call that a sealed thought belongs to. */
  readonly id?: string;
  readonly format: string;
  readonly index: number;
}

/** A thought as it came back from a client. */
export interface ReturnedThought {
  readonly text: string;
  readonly signature: string | null;
  /** What is in a thought that only its maker can read. */
  readonly sealed: string | null;
  readonly toolCallId: string | null;
}

/** Joins the pieces of each thought: neighbours of the same index. */
export function joinDetails(details: readonly ReasoningDetail[]): readonly ReasoningDetail[] {
  const joined: ReasoningDetail[] = [];
  for (const detail of details) {
    const last = joined.at(-1);
    if (last === undefined || last.type !== 'reasoning.text' || !isSameThought(last, detail)) {
      joined.push(detail);
      continue;
    }
    const { signature } = { ...last, ...detail };
    const text = `${last.text ?? ''}${detail.text ?? ''}`;
    joined[joined.length - 1] = { ...last, text, ...(signature === undefined ? {} : { signature }) };
  }
  return joined;
}

/** The thoughts of an assistant's message that were made in `format`, in order; what is no entry, or another's, is left out. */
export function readDetails(value: unknown, format: string): readonly ReturnedThought[] {
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
    sealed: data ?? null,
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

function isSameThought(one: ReasoningDetail, other: ReasoningDetail): boolean {
  return one.type === other.type && one.index === other.index;
}
