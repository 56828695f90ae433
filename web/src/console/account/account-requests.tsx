import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { instantsOf } from '../../app/range-instants.ts';
import { oneOf, type SearchSchema, text, useRange, useSearchParams } from '../../app/search-params.ts';
import { type ItemOf, usePages } from '../../app/use-pages.ts';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/field.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { PagedTable } from '../paged-table.tsx';
import { RefundRequest } from './refund-request.tsx';
import { useRequestColumns } from './request-columns.tsx';

/** A request of an account. */
export type AccountRequest = ItemOf<'GET /console/api/accounts/{account}/generations'>;

const outcomes = ['', 'ok', 'failed', 'cancelled'] as const;
const schema: SearchSchema<{
  outcome: (typeof outcomes)[number];
  model: string;
  app: string;
  key: string;
}> = { outcome: oneOf(outcomes, ''), model: text(), app: text(), key: text() };
const narrowed = ['model', 'app', 'key'] as const;

/** The requests of an account as its owner sees them; the cost of one can be refunded. */
export function AccountRequests({ id }: { id: string }) {
  const { t } = useTranslation('account');
  const [range, setRange] = useRange();
  const [search, change] = useSearchParams(schema);
  const [refunding, setRefunding] = useState<AccountRequest | null>(null);
  const query = {
    ...instantsOf(range),
    ...(search.outcome === '' ? {} : { outcome: search.outcome }),
    ...(search.model === '' ? {} : { model: search.model }),
    ...(/^[1-9]\d*$/.test(search.app) ? { app: search.app } : {}),
    ...(/^[0-9a-f]{64}$/.test(search.key) ? { key: search.key } : {}),
  };
  const pages = usePages('GET /console/api/accounts/{account}/generations', {
    params: { account: id },
    query,
  });
  const columns = useRequestColumns(setRefunding);
  return (
    <>
      <PagedTable
        id="account-requests"
        label={t('tab.requests')}
        columns={columns}
        pages={pages}
        rowId={(row) => row.id}
        tools={
          <>
            <RangePicker value={range} onChange={setRange} />
            <Select
              aria-label={t('column.outcome')}
              value={search.outcome}
              onChange={({ target }) => change({ outcome: target.value as typeof search.outcome })}
              options={outcomes.map((value) => ({
                value,
                label: t(`outcome.${value === '' ? 'all' : value}`),
              }))}
            />
            {narrowed
              .filter((name) => search[name] !== '')
              .map((name) => (
                <Button key={name} size="sm" icon="close" onClick={() => change({ [name]: '' })}>
                  {t('narrowed', { by: t(`by.${name}`), value: search[name].slice(0, 16) })}
                </Button>
              ))}
          </>
        }
        empty={<EmptyState title={t('noRequests')} />}
      />
      {refunding === null ? null : (
        <RefundRequest id={id} row={refunding} onClose={() => setRefunding(null)} />
      )}
    </>
  );
}
