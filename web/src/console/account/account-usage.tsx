import { useMemo } from 'react';
import { useRange } from '../../app/search-params.ts';
import { RangePicker } from '../../ui/range-picker.tsx';
import { UsageExplorer } from '../../usage/usage-explorer.tsx';

/** What an account used over time, as its owner sees it. */
export function AccountUsage({ id }: { id: string }) {
  const [range, setRange] = useRange();
  const source = useMemo(() => ({ account: id }), [id]);
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap gap-2">
        <RangePicker value={range} onChange={setRange} />
      </div>
      <UsageExplorer source={source} />
    </div>
  );
}
