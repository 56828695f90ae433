import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../app/page.tsx';
import { QueriesAge } from '../../app/queries-age.tsx';
import { useRange } from '../../app/search-params.ts';
import { RangePicker } from '../../ui/range-picker.tsx';
import { UsageExplorer } from '../../usage/usage-explorer.tsx';

/** U2: any metric by any dimension, over any time. */
export function Page() {
  const { t } = useTranslation('usage');
  const [range, setRange] = useRange();
  return (
    <Frame
      title={t('title')}
      aside={<QueriesAge />}
      actions={<RangePicker value={range} onChange={setRange} />}
    >
      <UsageExplorer source="own" />
    </Frame>
  );
}
