import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame, Section } from '../../app/page.tsx';
import { QueryAge } from '../../app/queries-age.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Figure, FigureRow, LimitMeter, Money } from '../../ui/figures.tsx';
import { SkeletonLines } from '../../ui/states.tsx';
import { ExpiringTable } from './expiring-table.tsx';
import { SplitTable } from './split-table.tsx';

/** What is outstanding, as the API sends it. */
export type Liability = ResponseOf<'GET /console/api/liability'>;

const refreshMs = 60_000;

/** A9: what customers have paid for and not used, beside the thresholds of the law. */
export function Page() {
  const { t } = useTranslation('liability');
  const liability = useQuery({ ...readQuery('GET /console/api/liability', {}), refetchInterval: refreshMs });
  return (
    <Frame title={t('title')} aside={<QueryAge of={liability} />}>
      {liability.data === undefined ? (
        liability.isError ? (
          <ReadError of={liability} />
        ) : (
          <SkeletonLines lines={6} />
        )
      ) : (
        <Content liability={liability.data} />
      )}
    </Frame>
  );
}

function Content({ liability }: { liability: Liability }) {
  const { t } = useTranslation('liability');
  const format = useFormat();
  const { outstanding, issued, thresholds } = liability;
  const ageLabel = (days: number | null, index: number): string => {
    if (days === null) return t('age.older', { days: liability.ages[index - 1]?.days ?? 0 });
    const from = index === 0 ? 0 : (liability.ages[index - 1]?.days ?? 0) + 1;
    return t('age.upTo', { from, days });
  };
  return (
    <>
      <FigureRow>
        <Figure isMain label={t('outstanding')}>
          <Money micro={parseMicro(outstanding.paid_micro) + parseMicro(outstanding.bonus_micro)} />
        </Figure>
        <Figure label={t('paid')} note={t('paidNote')}>
          <Money micro={outstanding.paid_micro} />
        </Figure>
        <Figure label={t('bonus')}>
          <Money micro={outstanding.bonus_micro} />
        </Figure>
        <Figure label={t('debt')} note={t('debtNote')}>
          <Money micro={liability.debt_micro} />
        </Figure>
      </FigureRow>
      <Section title={t('thresholds')} note={t('thresholdsNote')}>
        <div className="grid max-w-190 grid-cols-2 gap-x-10 gap-y-4 max-md:grid-cols-1">
          <div>
            <p className="text-sm text-muted">{t('paid')}</p>
            <LimitMeter
              used={outstanding.paid_micro}
              limit={thresholds.outstanding_micro}
              label={t('paid')}
            />
          </div>
          <div>
            <p className="text-sm text-muted">{t('issuedPaid')}</p>
            <LimitMeter used={issued.paid_micro} limit={thresholds.issued_micro} label={t('issuedPaid')} />
          </div>
        </div>
      </Section>
      <Section title={t('ageing')} note={t('ageingNote')}>
        <SplitTable
          id="liability-ages"
          label={t('ageing')}
          header={t('column.age')}
          rows={liability.ages.map((row, index) => ({
            ...row,
            name: ageLabel(row.days, index),
            order: row.days ?? Number.MAX_SAFE_INTEGER,
          }))}
        />
      </Section>
      <Section title={t('expiring')} note={t('expiringNote')}>
        <SplitTable
          id="liability-expiring"
          label={t('expiring')}
          header={t('column.within')}
          rows={liability.expiring.map((row) => ({
            ...row,
            name: t('within', { days: row.days, lots: format.count(row.lots) }),
            order: row.days,
          }))}
        />
        {liability.expiring.every(({ lots }) => lots === 0) ? null : <ExpiringTable />}
      </Section>
      <Section
        title={t('issued')}
        note={t('issuedNote', { at: format.time(liability.issued_since, 'date') })}
      >
        <SplitTable
          id="liability-issued"
          label={t('issued')}
          header={t('column.month')}
          rows={liability.issued_months.map((row) => ({ ...row, name: row.month, order: row.month }))}
        />
      </Section>
    </>
  );
}
