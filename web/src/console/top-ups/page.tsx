import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../app/page.tsx';
import { PagedTable, PagesAge } from '../../app/paged-table.tsx';
import { oneOf, type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { usePages } from '../../app/use-pages.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { type Decision, useDecidedColumns } from './columns.tsx';
import { ConfirmTopUp, RejectTopUp } from './decisions.tsx';
import { Payments } from './payments.tsx';

const states = ['pending', 'confirmed', 'rejected', 'withdrawn', 'all'] as const;
const schema: SearchSchema<{ state: (typeof states)[number]; account: string }> = {
  state: oneOf(states, 'pending'),
  account: text(),
};
const refreshMs = 5_000;

/** A8: what account owners asked for, and the decisions. */
export function Page() {
  const { t } = useTranslation('top-ups');
  const [{ state, account }, change] = useSearchParams(schema);
  const [decision, setDecision] = useState<Decision | null>(null);
  const query = {
    ...(state === 'all' ? {} : { state }),
    ...(/^\d{1,15}$/.test(account) ? { account } : {}),
  };
  const pages = usePages('GET /console/api/topups', { query }, { refetchMs: refreshMs });
  const columns = useDecidedColumns(setDecision);
  const close = (): void => setDecision(null);
  return (
    <Frame title={t('title')} aside={<PagesAge pages={pages} />}>
      <PagedTable
        id="console-top-ups"
        label={t('title')}
        columns={columns}
        pages={pages}
        rowId={({ id }) => String(id)}
        tools={
          <>
            <Segmented
              label={t('column.state')}
              value={state}
              onChange={(next) => change({ state: next })}
              options={states.map((value) => ({ value, label: t(`state.${value}`) }))}
            />
            {account === '' ? null : (
              <Button size="sm" icon="close" onClick={() => change({ account: '' })}>
                {t('ofAccount', { account })}
              </Button>
            )}
          </>
        }
        empty={
          <EmptyState title={t(`empty.${state === 'pending' ? 'pending' : 'other'}`)}>
            {state === 'pending' ? t('empty.text') : undefined}
          </EmptyState>
        }
      />
      <Payments account={account} />
      {decision?.kind === 'confirm' ? <ConfirmTopUp row={decision.row} onClose={close} /> : null}
      {decision?.kind === 'reject' ? <RejectTopUp row={decision.row} onClose={close} /> : null}
    </Frame>
  );
}
