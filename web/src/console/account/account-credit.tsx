import { useTranslation } from 'react-i18next';
import { Section } from '../../app/page.tsx';
import { useRange } from '../../app/search-params.ts';
import { BalanceChart } from '../../credits/balance-chart.tsx';
import { Lots } from '../../credits/lots.tsx';
import { RangePicker } from '../../ui/range-picker.tsx';

/** The lots of credit of an account and its balance over time, as its owner sees them. */
export function AccountCredit({ id }: { id: string }) {
  const { t } = useTranslation('credits');
  const [range, setRange] = useRange();
  return (
    <div className="flex flex-col gap-8">
      <Section title={t('lots')} note={t('lotsNote')}>
        <Lots account={id} />
      </Section>
      <Section title={t('history')} actions={<RangePicker value={range} onChange={setRange} />}>
        <BalanceChart account={id} />
      </Section>
    </div>
  );
}
