import { useQuery } from '@tanstack/react-query';
import { type ResponseOf, read } from '../../api/client.ts';
import { sessionQuery } from '../../api/session.ts';

type Public = ResponseOf<'GET /dashboard/api/public/models'>['items'][number];
type Own = ResponseOf<'GET /dashboard/api/models'>['items'][number]['candidates'][number];

/** A candidate; only those who have signed in see the state of its slot, and whether it is drained. */
export type Candidate = Public['candidates'][number] & Partial<Pick<Own, 'slot' | 'is_drained'>>;
/** A model, as the API sends it to an owner or to a visitor. */
export interface Model extends Omit<Public, 'candidates'> {
  readonly candidates: readonly Candidate[];
}

const refreshMs = 15_000;

/** The models, with the states of slots for those who have signed in. */
export function useModels() {
  const session = useQuery(sessionQuery('dashboard'));
  const isOwner = session.data !== undefined && session.data !== null;
  return useQuery({
    queryKey: ['models', isOwner] as const,
    queryFn: ({ signal }): Promise<{ readonly items: readonly Model[] }> =>
      isOwner
        ? read('GET /dashboard/api/models', { signal })
        : read('GET /dashboard/api/public/models', { signal }),
    // The list depends on whether a person is signed in.
    enabled: !session.isPending,
    refetchInterval: refreshMs,
  });
}

/** The shortest median time to the first token of its candidates; null without traffic. */
export function fastest({ candidates }: Model): number | null {
  const found = candidates.flatMap(({ ttft_p50_ms }) => (ttft_p50_ms === null ? [] : [ttft_p50_ms]));
  return found.length === 0 ? null : Math.min(...found);
}

/** The most tokens a second of its candidates at the median; null without traffic. */
export function fastestSpeed({ candidates }: Model): number | null {
  const found = candidates.flatMap(({ tokens_per_second_p50 }) =>
    tokens_per_second_p50 === null ? [] : [tokens_per_second_p50],
  );
  return found.length === 0 ? null : Math.max(...found);
}

/** The uptime of its best candidate in percent; null without traffic. */
export function bestUptime({ candidates }: Model): number | null {
  const found = candidates.flatMap(({ uptime_1d }) => (uptime_1d === null ? [] : [uptime_1d]));
  return found.length === 0 ? null : Math.max(...found);
}
