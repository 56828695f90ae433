import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { urlOf } from '../../api/client.ts';
import { useIsVisible, useLive } from '../../api/live.ts';
import { Page as Frame } from '../../app/page.tsx';
import { LiveStatus } from '../../ui/live-status.tsx';
import { SkeletonLines } from '../../ui/states.tsx';
import { CandidateTable } from './candidate-table.tsx';
import type { MoneyToday, Now } from './data.ts';
import { Errors, FirstTokens } from './errors.tsx';
import { Figures } from './figures.tsx';
import { Money } from './money.tsx';
import { NodeTable } from './node-table.tsx';
import { Scope } from './scope.tsx';
import { SlotTable } from './slot-table.tsx';
import { Traffic } from './traffic.tsx';

/** A1: what the service does at the moment, live. */
export function Page() {
  const { t } = useTranslation('now');
  const [now, setNow] = useState<Now | null>(null);
  const [money, setMoney] = useState<MoneyToday | null>(null);
  const state = useLive(useIsVisible() ? urlOf('GET /console/api/now/live', {}) : null, {
    now: setNow,
    money: setMoney,
  });
  return (
    <Frame
      title={t('title')}
      aside={<LiveStatus state={state} updatedMs={now === null ? null : Date.parse(now.as_of)} />}
    >
      {now === null ? (
        <SkeletonLines lines={6} />
      ) : (
        <>
          <Scope now={now} />
          <Figures now={now} />
          <Traffic now={now} />
        </>
      )}
      <Money money={money} />
      {now === null ? null : (
        <>
          <div className="grid gap-8 lg:grid-cols-2">
            <Errors errors={now.errors} />
            <FirstTokens rows={now.first_tokens} />
          </div>
          <CandidateTable now={now} />
          <SlotTable slots={now.slots} />
        </>
      )}
      <NodeTable />
    </Frame>
  );
}
