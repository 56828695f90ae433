import { useTranslation } from 'react-i18next';
import { ActionButton } from '../../app/permission.tsx';
import { Status } from '../../ui/badge.tsx';
import { None, RelativeTime } from '../../ui/figures.tsx';
import { Banner } from '../../ui/states.tsx';
import type { Candidate, DrainedElsewhere } from './data.ts';
import type { WantedDrain } from './drain-dialog.tsx';

/** Of a drained candidate: whether every process has stopped to send it new requests. */
export function DrainState({ row: { model, health } }: { row: Candidate }) {
  const { t } = useTranslation('candidates');
  const isEverywhere = health.every(({ drained_for }) => drained_for.includes(model));
  return (
    <Status tone="warn" icon="pause">
      {t(isEverywhere ? 'drain.state' : 'drain.spreading')}
    </Status>
  );
}

/** Why a candidate is drained, by whom, and since when. */
export function DrainReason({ row: { drain } }: { row: Candidate }) {
  if (drain === null) return <None />;
  return (
    <span className="break-words">
      {drain.reason}{' '}
      <span className="text-xs text-muted">
        {drain.by} · <RelativeTime at={drain.since} />
      </span>
    </span>
  );
}

/** Drained candidates that the configuration lacks: they stay drained when they come back. */
export function DrainsElsewhere({
  rows,
  onResume,
}: {
  rows: readonly DrainedElsewhere[];
  onResume: (wanted: WantedDrain) => void;
}) {
  const { t } = useTranslation('candidates');
  if (rows.length === 0) return null;
  return (
    <Banner tone="warn">
      <p>{t('drain.elsewhere')}</p>
      <ul className="flex flex-col gap-1 pt-1">
        {rows.map(({ model, candidate, reason }) => (
          <li key={`${model} ${candidate}`} className="flex flex-wrap items-center gap-x-2">
            <span className="font-medium">{model}</span>
            <span className="font-mono text-xs break-all">{candidate}</span>
            <span className="text-xs">{reason}</span>
            <ActionButton
              needs="admin"
              size="sm"
              icon="play"
              onClick={() => onResume({ model, candidate, drained: false })}
            >
              {t('resume.button')}
            </ActionButton>
          </li>
        ))}
      </ul>
    </Banner>
  );
}
