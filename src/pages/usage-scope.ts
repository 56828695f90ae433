import { readKeyNames } from '../accounts/key-names-sql.ts';
import type { Dimension, UsageQuery } from '../generations/analytics/usage-facts-sql.ts';
import type { UsageGroup } from '../generations/analytics/usage-sql.ts';
import { readAppNames, readAppPreferences } from '../generations/app-preferences-sql.ts';
import type { PageContext } from './context.ts';
import type { PageSession } from './page-session.ts';
import { type UsageParameters, usageQueryOf } from './usage-query.ts';

/** Which usage a session may see, and how its values are named. */
export interface UsageScope {
  readonly query: UsageQuery;
  named(
    by: Dimension | undefined,
    group: Pick<UsageGroup, 'value'>,
  ): { value: string | null; label: string | null };
}

/** A session of the dashboard sees its own account only; keys are named by their hashes there. */
export async function usageScopeOf(
  { reads, clock }: PageContext,
  session: PageSession,
  parameters: UsageParameters,
): Promise<UsageScope> {
  const nowMs = clock.now();
  if (session.kind === 'operator')
    return {
      query: usageQueryOf(
        { ...parameters, app: undefined, user: undefined, tag: undefined, tag_value: undefined },
        { accountId: null, nowMs },
      ),
      named: (_by, { value }) => ({ value, label: null }),
    };
  const { accountId } = session;
  const keys = await readKeyNames(reads, accountId);
  const apps = await readAppNames(reads, accountId);
  const byId = new Map(keys.map((key) => [String(key.id), key]));
  const preferences = parameters.app === undefined ? null : await readAppPreferences(reads, accountId);
  // A link may name an app that was merged since.
  const app = parameters.app?.map((id) => String(preferences?.targetOf(Number(id)) ?? id));
  const wanted = parameters.key === undefined ? undefined : new Set(parameters.key);
  const keyIds =
    wanted === undefined ? undefined : keys.flatMap(({ id, hash }) => (wanted.has(hash) ? [String(id)] : []));
  return {
    query: usageQueryOf(
      { ...parameters, app },
      { accountId, nowMs, ...(keyIds === undefined ? {} : { keyIds }) },
    ),
    named: (by, { value }) => {
      if (value === null) return { value: null, label: null };
      if (by === 'key')
        return { value: byId.get(value)?.hash ?? value, label: byId.get(value)?.name ?? null };
      return { value, label: by === 'app' ? (apps.get(value) ?? null) : null };
    },
  };
}
