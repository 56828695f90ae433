import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Page as Frame } from '../../app/page.tsx';
import { PagedTable, PagesAge } from '../../app/paged-table.tsx';
import { instantsOf } from '../../app/range-instants.ts';
import { type SearchSchema, text, useRange, useSearchParams } from '../../app/search-params.ts';
import { usePages } from '../../app/use-pages.ts';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/field.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { useActWords, useAuditColumns } from './columns.tsx';

const schema: SearchSchema<{ operator: string; act: string; account: string }> = {
  operator: text(),
  act: text(),
  account: text(),
};
const cli = 'cli' as const;

/** A12: every act of every operator, commands included. */
export function Page() {
  const { t } = useTranslation('audit');
  const [range, setRange] = useRange();
  const [{ operator, act, account }, change] = useSearchParams(schema);
  const operators = useQuery(readQuery('GET /console/api/operators', {}));
  const acts = useQuery(readQuery('GET /console/api/audit/acts', {}));
  const query = {
    ...instantsOf(range),
    ...(operator === cli ? { role: cli } : isId(operator) ? { operator_id: Number(operator) } : {}),
    ...(act === '' ? {} : { act }),
    ...(isId(account) ? { account_id: Number(account) } : {}),
  };
  const pages = usePages('GET /console/api/audit', { query });
  const columns = useAuditColumns();
  const words = useActWords();
  return (
    <Frame title={t('title')} aside={<PagesAge pages={pages} />}>
      <PagedTable
        id="audit"
        label={t('title')}
        columns={columns}
        pages={pages}
        rowId={({ id }) => String(id)}
        tools={
          <>
            <RangePicker value={range} onChange={setRange} />
            <Select
              aria-label={t('column.who')}
              value={operator}
              onChange={({ target }) => change({ operator: target.value })}
              options={[
                { value: '', label: t('everybody') },
                { value: cli, label: t('commandLine') },
                ...(operators.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name })),
              ]}
            />
            <Select
              aria-label={t('column.act')}
              value={act}
              onChange={({ target }) => change({ act: target.value })}
              options={[
                { value: '', label: t('everyAct') },
                ...(acts.data?.items ?? []).map((name) => ({ value: name, label: words(name) })),
              ]}
            />
            {account === '' ? null : (
              <Button size="sm" icon="close" onClick={() => change({ account: '' })}>
                {t('ofAccount', { account })}
              </Button>
            )}
          </>
        }
        empty={<EmptyState title={t('empty')} />}
      />
    </Frame>
  );
}

function isId(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text);
}
