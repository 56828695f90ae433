import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { Page as Frame } from '../../app/page.tsx';
import { PagedTable, PagesAge } from '../../app/paged-table.tsx';
import { oneOf, type SearchSchema, useSearchParams } from '../../app/search-params.ts';
import { usePages } from '../../app/use-pages.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { useQuarantineColumns } from './columns.tsx';
import { type Decision, DecisionDialog } from './decision-dialog.tsx';

const views = ['waiting', 'all'] as const;
const schema: SearchSchema<{ view: (typeof views)[number] }> = { view: oneOf(views, 'waiting') };

/** The settlements that the database rejected (A1, A11), and what may be decided about each. */
export function Page() {
  const { t } = useTranslation('quarantine');
  const [{ view }, change] = useSearchParams(schema);
  const [decision, setDecision] = useState<Decision | null>(null);
  const pages = usePages('GET /console/api/quarantine', { query: view === 'all' ? { all: '1' } : {} });
  const columns = useQuarantineColumns(setDecision);
  return (
    <Frame
      title={t('title')}
      back={
        <Link to="/books" className="hover:underline">
          {t('back')}
        </Link>
      }
      aside={<PagesAge pages={pages} />}
    >
      <p className="max-w-prose text-sm text-muted">{t('text')}</p>
      <PagedTable
        id="quarantine"
        label={t('title')}
        columns={columns}
        pages={pages}
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
