import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame } from '../../app/page.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { oneOf, type SearchSchema, useSearchParams } from '../../app/search-params.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { EmptyState, StaleNote } from '../../ui/states.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { useQuarantineColumns } from './columns.tsx';
import { type Decision, DecisionDialog } from './decision-dialog.tsx';

export type Quarantined = ResponseOf<'GET /console/api/quarantine'>['items'][number];

const views = ['waiting', 'all'] as const;
const schema: SearchSchema<{ view: (typeof views)[number] }> = { view: oneOf(views, 'waiting') };

/** The settlements that the database rejected (A1, A11), and what may be decided about each. */
export function Page() {
  const { t } = useTranslation('quarantine');
  const [{ view }, change] = useSearchParams(schema);
  const [decision, setDecision] = useState<Decision | null>(null);
  const found = useQuery(
    readQuery('GET /console/api/quarantine', { query: view === 'all' ? { all: '1' } : {} }),
  );
  const columns = useQuarantineColumns(setDecision);
  return (
    <Frame
      title={t('title')}
      back={
        <Link to="/books" className="hover:underline">
          {t('back')}
        </Link>
      }
      aside={
        found.data === undefined ? null : (
          <StaleNote
            updatedMs={found.dataUpdatedAt}
            isFailing={found.isError}
            onRefresh={() => void found.refetch()}
            isRefreshing={found.isFetching}
          />
        )
      }
    >
      <p className="max-w-prose text-sm text-muted">{t('text')}</p>
      <DataTable
        id="quarantine"
        label={t('title')}
        columns={columns}
        rows={found.data?.items}
        rowId={({ id }) => id}
        tools={
          <Segmented
            label={t('viewLabel')}
            value={view}
            onChange={(next) => change({ view: next })}
            options={views.map((value) => ({ value, label: t(`view.${value}`) }))}
          />
        }
        empty={<EmptyState title={t('empty')} />}
        error={found.isError && found.data === undefined ? <ReadError of={found} /> : null}
      />
      <CodeBlock
        label={t('commands')}
        code={[
          'naru ledger quarantine',
          'naru ledger retry [--generation <id>]',
          'naru ledger write-off --generation <id> --reason <text>',
        ].join('\n')}
      />
      {decision === null ? null : <DecisionDialog decision={decision} onClose={() => setDecision(null)} />}
    </Frame>
  );
}
