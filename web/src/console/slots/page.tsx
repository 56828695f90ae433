import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { urlOf } from '../../api/client.ts';
import { useIsVisible, useLive } from '../../api/live.ts';
import { Page as Frame, Section } from '../../app/page.tsx';
import { type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { LiveStatus } from '../../ui/live-status.tsx';
import type { SlotsNow } from './data.ts';
import { GpuTable } from './gpu-table.tsx';
import { SlotDetail } from './slot-detail.tsx';
import { SlotTable } from './slot-table.tsx';

const schema: SearchSchema<{ slot: string }> = { slot: text() };

/** A6: the engines of this server, live. */
export function Page() {
  const { t } = useTranslation('slots');
  const [{ slot: chosen }] = useSearchParams(schema);
  const [now, setNow] = useState<SlotsNow | null>(null);
  const state = useLive(useIsVisible() ? urlOf('GET /console/api/slots/live', {}) : null, { slots: setNow });
  const slot = now?.slots.find(({ name }) => name === chosen);
  return (
    <Frame
      title={t('title')}
      aside={<LiveStatus state={state} updatedMs={now === null ? null : Date.parse(now.as_of)} />}
    >
      <p className="text-sm text-muted">{t('scope')}</p>
      <SlotTable slots={now?.slots} chosen={chosen} />
      {slot === undefined ? null : <SlotDetail key={slot.name} slot={slot} />}
      {now === null || now.gpus.length === 0 ? null : (
        <Section title={t('gpus')} note={t('gpusNote')}>
          <GpuTable gpus={now.gpus} />
        </Section>
      )}
    </Frame>
  );
}
