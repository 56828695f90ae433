import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Section } from '../../app/page.tsx';
import { useRefusal } from '../../app/permission.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { Status } from '../../ui/badge.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Select } from '../../ui/field.tsx';
import { None, Properties } from '../../ui/figures.tsx';
import { EmptyState, NoPermissionState, SkeletonLines } from '../../ui/states.tsx';
import { reasonText } from '../slot-reason.ts';
import { toneOfSlot } from '../slot-state.tsx';
import type { Slot } from './data.ts';
import { SlotActs } from './slot-acts.tsx';

const followMs = 2_000;

/** One slot: its engines, its start times and what its engine writes. */
export function SlotDetail({ slot }: { slot: Slot }) {
  const { t } = useTranslation('slots');
  const format = useFormat();
  const durations = slot.start_durations_ms.map(format.duration).join(', ');
  return (
    <Section title={slot.name} actions={<SlotActs slot={slot} />}>
      <div className="grid gap-8 lg:grid-cols-2">
        <Properties
          rows={[
            { name: t('driver'), value: t(`drivers.${slot.driver}`) },
            {
              name: t('vram'),
              value: slot.vram_mb === 0 ? <None /> : t('mib', { mb: format.count(slot.vram_mb) }),
            },
            { name: t('startTimes'), value: durations === '' ? <None /> : durations },
          ]}
        />
        <ul className="flex flex-col gap-2 text-sm">
          {slot.replicas.map((engine) => (
            <li key={engine.name} className="flex flex-wrap items-baseline gap-x-3">
              <span className="font-medium">{engine.name}</span>
              <Status tone={toneOfSlot(engine.state)}>{t(`state.${engine.state}`)}</Status>
              <span className="text-muted">
                {[
                  engine.pid === null ? null : t('pid', { pid: engine.pid }),
                  engine.port === null ? null : t('port', { port: engine.port }),
                  engine.gpus.length === 0 ? null : t('onGpus', { gpus: engine.gpus.join(', ') }),
                  reasonText(t, engine.reason),
                ]
                  .filter((one) => one !== null && one !== '')
                  .join(' · ')}
              </span>
            </li>
          ))}
        </ul>
      </div>
      {slot.driver === 'process' ? <Log name={slot.name} /> : null}
    </Section>
  );
}

/** The last lines that an engine wrote, followed while they are shown. */
function Log({ name }: { name: string }) {
  const { t } = useTranslation('slots');
  const format = useFormat();
  const refusal = useRefusal('admin');
  const [start, setStart] = useState(1);
  const log = useQuery({
    ...readQuery('GET /console/api/slots/{name}/log', { params: { name }, query: { start } }),
    enabled: refusal === null,
    refetchInterval: start === 1 ? followMs : false,
  });
  if (refusal !== null) return <NoPermissionState>{t('logRefusal')}</NoPermissionState>;
  if (log.data === undefined) return log.isError ? <ReadError of={log} /> : <SkeletonLines lines={4} />;
  if (log.data.starts.length === 0) return <EmptyState icon="terminal" title={t('noLog')} />;
  return (
    <div className="flex flex-col gap-2">
      <div className="flex items-center gap-3">
        <h3 className="font-medium">{t('log')}</h3>
        <div className="w-60">
          <Select
            aria-label={t('whichStart')}
            value={String(start)}
            onChange={({ target }) => setStart(Number(target.value))}
            options={log.data.starts.map((at, index) => ({
              value: String(index + 1),
              label:
                index === 0 ? t('latestStart', { at: format.time(at, 'second') }) : format.time(at, 'second'),
            }))}
          />
        </div>
      </div>
      <div className="max-h-96 overflow-y-auto">
        <CodeBlock code={log.data.lines.join('\n')} label={t('log')} isWrapped />
      </div>
    </div>
  );
}
