import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../app/page.tsx';
import { QueriesAge } from '../../app/queries-age.tsx';
import { useRange } from '../../app/search-params.ts';
import { RangePicker } from '../../ui/range-picker.tsx';
import { UsageExplorer } from '../../usage/usage-explorer.tsx';

/** A1: the usage of all accounts over time, to which the figures of the page Now lead. */
export function Page() {
  const { t } = useTranslation('usage');
  const [range, setRange] = useRange();
  return (
    <Frame
      title={t('title')}
      aside={<QueriesAge />}
      actions={<RangePicker value={range} onChange={setRange} />}
    >
      <p className="text-sm text-muted">{t('ofAllAccounts')}</p>
      <UsageExplorer source="all" />
    </Frame>
  );
}
