import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { wholeList } from '../../app/use-pages.ts';
import { parseMicro } from '../../format/money.ts';
import { seoulDay } from '../../format/time.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { RestrictedMark } from '../../keys/restrictions.tsx';
import { standingTones } from '../../keys/standing.ts';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Sparkline } from '../../ui/chart/sparkline.tsx';
import { Input } from '../../ui/field.tsx';
import { LimitMeter, Money, None, Time } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { type Created, CreatedKey } from './created-key.tsx';
import { type KeyKind, type KeyRow, keysQueryKey } from './key.ts';
import { KeyActions } from './key-actions.tsx';
import { KeyForm } from './key-form.tsx';

const refreshMs = 30_000;
/** Up to one page of a table, nobody searches. */
const maxWithoutSearch = 25;
const schema: SearchSchema<{ search: string }> = { search: text() };

/** The keys of one kind with what they spent, and everything that can be done with them. */
export function KeyList({ kind }: { kind: KeyKind }) {
  const { t } = useTranslation('keys');
  const queries = useQueryClient();
  const [isCreating, setIsCreating] = useState(false);
  const [created, setCreated] = useState<Created | null>(null);
  const keys = useQuery({
    ...wholeList('GET /dashboard/api/keys', { query: { kind } }),
    refetchInterval: refreshMs,
  });
  const columns = useColumns(kind, setCreated);
  const [{ search }, change] = useSearchParams(schema);
  const all = keys.data;
  const rows = useMemo(() => all?.filter((row) => isFound(row, search)), [all, search]);
  const create = (
    <Button variant="primary" icon="plus" onClick={() => setIsCreating(true)}>
      {t('create')}
    </Button>
  );
  return (
    <>
      <DataTable
        id={`${kind}-keys`}
        label={t(`title.${kind}`)}
        columns={columns}
        rows={rows}
        rowId={({ hash }) => hash}
        tools={
          <>
            {create}
            {search === '' && (all === undefined || all.length <= maxWithoutSearch) ? null : (
              <div className="w-72 max-md:w-full">
                <Input
                  type="search"
                  aria-label={t('search')}
                  placeholder={t('search')}
                  value={search}
                  onChange={({ target }) => change({ search: target.value })}
                />
              </div>
            )}
          </>
        }
        empty={
          search === '' ? (
            <EmptyState icon="key" title={t('empty.title')} action={create}>
              {t(`empty.${kind}`)}
            </EmptyState>
          ) : (
            <EmptyState icon="key" title={t('empty.found')} />
          )
        }
        error={keys.isError && keys.data === undefined ? <ReadError of={keys} /> : null}
      />
      {isCreating ? (
        <KeyForm
          kind={kind}
          onClose={() => setIsCreating(false)}
          onCreated={(one) => {
            setIsCreating(false);
            setCreated(one);
          }}
        />
      ) : null}
      {created === null ? null : (
        <CreatedKey
          key={created.data.hash}
          created={created}
          onClose={() => setCreated(null)}
          onCreated={(one) => {
            setCreated(one);
            void queries.invalidateQueries({ queryKey: keysQueryKey });
          }}
        />
      )}
    </>
  );
}

function isFound({ name, label, hash }: KeyRow, search: string): boolean {
  const wanted = search.trim().toLowerCase();
  return [name.toLowerCase(), label, hash].some((value) => value.includes(wanted));
}

const trendDays = 30;

/** The spend of each of the last 30 days in Seoul, zero where there was none. */
function trendOf({ days }: KeyRow): readonly bigint[] {
  const spend = new Map(days.map(({ day, cost_micro }) => [day, parseMicro(cost_micro)]));
  const nowMs = Date.now();
  return Array.from(
    { length: trendDays },
    (_, index) => spend.get(seoulDay(nowMs, index + 1 - trendDays)) ?? 0n,
  );
}

function useColumns(kind: KeyKind, onCreated: (created: Created) => void): readonly Column<KeyRow>[] {
  const { t } = useTranslation('keys');
  const format = useFormat();
  return useMemo((): readonly Column<KeyRow>[] => {
    const spending: readonly Column<KeyRow>[] = [
      {
        id: 'limit',
        header: t('column.limit'),
        kind: 'money',
        isMeter: true,
        cell: (row) => (
          <div>
            <LimitMeter
              used={row.limit_used_micro}
              limit={row.limit_micro}
              label={t('limitOf', { name: row.name })}
            />
            {row.next_reset_at === null ? null : (
              <p className="text-xs text-muted">{t('nextReset', { at: format.time(row.next_reset_at) })}</p>
            )}
          </div>
        ),
        value: (row) => (row.limit_micro === null ? null : parseMicro(row.limit_micro)),
      },
      {
        id: 'trend',
        header: t('column.trend'),
        cell: (row) => <Sparkline values={trendOf(row)} label={t('trendOf', { name: row.name })} />,
        isWideOnly: true,
      },
      {
        id: 'used',
        header: t('column.used'),
        kind: 'money',
        cell: (row) => <Money micro={row.usage_total_micro} maxDecimals={2} />,
        value: (row) => parseMicro(row.usage_total_micro),
        isMainFigure: true,
      },
    ];
    return [
      {
        id: 'name',
        header: t('column.name'),
        cell: (row) => (
          <div className="min-w-0">
            <p className="flex items-center gap-1.5">
              <span className="truncate font-medium">{row.name}</span>
              <RestrictedMark row={row} />
            </p>
            <p className="truncate font-mono text-xs text-muted">{row.label}</p>
          </div>
        ),
        value: (row) => row.name,
        isTitle: true,
      },
      {
        id: 'standing',
        header: t('column.standing'),
        kind: 'state',
        cell: (row) => <Status tone={standingTones[row.standing]}>{t(`standing.${row.standing}`)}</Status>,
        value: (row) => row.standing,
      },
      ...(kind === 'inference' ? spending : []),
      {
        id: 'lastUsed',
        header: t('column.lastUsed'),
        cell: (row) =>
          row.last_used_on === null ? (
            <None />
          ) : (
            <Link to="/requests" search={{ key: row.hash }} className="hover:underline">
              {row.last_used_on}
            </Link>
          ),
        value: (row) => row.last_used_on,
        isHiddenByDefault: kind === 'management',
      },
      {
        id: 'expires',
        header: t('column.expires'),
        kind: 'time',
        cell: (row) => <Time at={row.expires_at} />,
        value: (row) => (row.expires_at === null ? null : Date.parse(row.expires_at)),
      },
      {
        id: 'created',
        header: t('column.created'),
        kind: 'time',
        cell: (row) => <Time at={row.created_at} style="date" />,
        value: (row) => Date.parse(row.created_at),
        isHiddenByDefault: kind === 'inference',
      },
      {
        id: 'actions',
        header: t('column.actions'),
        kind: 'actions',
        cell: (row) => <KeyActions row={row} onCreated={onCreated} />,
      },
    ];
  }, [kind, onCreated, format, t]);
}
