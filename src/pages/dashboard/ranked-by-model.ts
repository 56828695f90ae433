/** One row of the model ranking. */
interface DatedTokens {
  readonly date: string;
  readonly model_permaslug: string;
  readonly total_tokens: string;
}

interface Tokens {
  readonly total_tokens: string;
  /** One for each date; null: the source has none. */
  readonly tokens: (string | null)[];
}

/** How many models have a row of their own. */
const maxModels = 20;
/** How the source names all others. */
const other = 'other';

/** The rows by model instead of by date: the first models of all dates together, and the rest. */
export function rankedByModel(rows: readonly DatedTokens[]): {
  readonly dates: string[];
  readonly models: (Tokens & { readonly model: string })[];
  readonly other: Tokens;
} {
  const dates = [...new Set(rows.map(({ date }) => date))].toSorted();
  const byModel = [...Map.groupBy(rows, (row) => row.model_permaslug)]
    .filter(([model]) => model !== other)
    .map(([model, own]) => ({ model, own, total: sumOf(own) }))
    .toSorted((one, two) =>
      one.total === two.total ? (one.model < two.model ? -1 : 1) : one.total > two.total ? -1 : 1,
    );
  const first = byModel.slice(0, maxModels);
  const named = new Set(first.map(({ model }) => model));
  return {
    dates,
    models: first.map(({ model, own }) => ({ model, ...tokensOf(own, dates) })),
    other: tokensOf(
      rows.filter((row) => !named.has(row.model_permaslug)),
      dates,
    ),
  };
}

function tokensOf(rows: readonly DatedTokens[], dates: readonly string[]): Tokens {
  const ofDate = Map.groupBy(rows, ({ date }) => date);
  const tokens = dates.map((date) => {
    const own = ofDate.get(date);
    return own === undefined ? null : String(sumOf(own));
  });
  return { total_tokens: String(sumOf(rows)), tokens };
}

function sumOf(rows: readonly DatedTokens[]): bigint {
  return rows.reduce((sum, row) => sum + BigInt(row.total_tokens), 0n);
}
