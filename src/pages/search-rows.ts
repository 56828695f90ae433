import { z } from 'zod';
import { findAccounts } from '../accounts/accounts-sql.ts';
import { parseKeyHash } from '../accounts/api-key.ts';
import { searchKeys } from '../accounts/key-search-sql.ts';
import { searchAccounts } from '../accounts/search-sql.ts';
import { searchApps } from '../generations/app-preferences-sql.ts';
import type { Database } from '../store/database.ts';
import { seoulDayAt } from '../time/period.ts';
import type { ConsoleContext, DashboardContext } from './context.ts';
import { pageRoute } from './page-route.ts';
import { line } from './topup-rows.ts';

/** Of each kind. */
const maxFound = 5;

const query = z.object({ text: line(200) });
const response = z.strictObject({
  items: z.array(
    z.strictObject({
      kind: z.enum(['account', 'inference', 'management', 'model', 'app']).describe('Two are kinds of keys'),
      id: z.string().describe('Of a key: its hash'),
      name: z.string(),
      detail: z.string().describe('What tells things of one name apart, such as the label of a key'),
      account_id: z.int().nullable(),
    }),
  ),
});
type Found = z.input<typeof response>['items'];

/** What the palette finds of the session's account. */
export function dashboardSearchPage({ reads, catalogue }: DashboardContext) {
  return pageRoute({
    method: 'GET',
    path: '/dashboard/api/search',
    summary: 'Keys, models and apps by a part of a name; keys by their hash too; at most 5 of each',
    query,
    response,
    handle: async ({ session: { accountId }, query: { text } }) => ({
      items: [...(await keysAndApps(reads, { text, accountId })), ...foundModels(catalogue().models, text)],
    }),
  });
}

/** What the palette finds of all accounts. */
export function consoleSearchPage({ reads, clock, config }: ConsoleContext) {
  return pageRoute({
    method: 'GET',
    path: '/console/api/search',
    summary: 'Accounts, keys, models and apps by a part of a name or by an ID; at most 5 of each',
    query,
    response,
    handle: async ({ query: { text } }) => {
      const named = /^\d{1,15}$/.test(text) ? await findAccounts(reads, [Number(text)]) : [];
      const page = { beforeId: null, limit: maxFound, sinceDay: seoulDayAt(clock.now()) };
      const others = await searchAccounts(reads, { id: null, text, standing: null }, page);
      const accounts = new Map([...named, ...others].map((row) => [row.accountId, row]));
      return {
        items: [
          ...[...accounts.values()].slice(0, maxFound).map(({ accountId, name, email }) => ({
            kind: 'account' as const,
            id: String(accountId),
            name,
            detail: email ?? `#${accountId}`,
            account_id: accountId,
          })),
          ...(await keysAndApps(reads, { text, accountId: null })),
          ...foundModels(config().models, text),
        ],
      };
    },
  });
}

/** Of an account; null: of all. An owner does not see revoked keys. */
async function keysAndApps(
  reads: Database,
  { text, accountId }: { readonly text: string; readonly accountId: number | null },
): Promise<Found> {
  const hash = parseKeyHash(text.toLowerCase());
  const keys = await searchKeys(
    reads,
    { hash, text: hash === null ? text : null, accountId, isRevokedToo: accountId === null },
    { beforeId: null, limit: maxFound },
  );
  const apps = await searchApps(reads, { text, accountId }, maxFound);
  return [
    ...keys.map((key) => ({
      kind: key.kind,
      id: key.hash,
      name: key.name,
      detail: key.label,
      account_id: key.accountId,
    })),
    ...apps.map((app) => ({
      kind: 'app' as const,
      id: String(app.id),
      name: app.name,
      detail: accountId === null ? `#${app.accountId}` : '',
      account_id: app.accountId,
    })),
  ];
}

function foundModels(models: readonly { readonly id: string; readonly name: string }[], text: string): Found {
  const wanted = text.toLowerCase();
  return models
    .filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(wanted))
    .slice(0, maxFound)
    .map(({ id, name }) => ({ kind: 'model', id, name, detail: id, account_id: null }));
}
