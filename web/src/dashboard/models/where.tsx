import { useTranslation } from 'react-i18next';
import { useFormat } from '../../i18n/use-format.ts';
import { Status, type Tone } from '../../ui/badge.tsx';
import { RelativeTime } from '../../ui/figures.tsx';
import type { Model } from './model.ts';

const slotTones: Readonly<Record<string, Tone>> = {
  READY: 'good',
  STARTING: 'warn',
  WARMING: 'warn',
  BACKOFF: 'bad',
  FAILED: 'bad',
};

/** Where the model is answered, and whether its operator has drained candidates. */
export function Where({ model }: { model: Model }) {
  const { t } = useTranslation('models');
  const count = model.candidates.filter(({ is_drained: isDrained }) => isDrained === true).length;
  if (count === 0) return <Place model={model} />;
  return (
    <span className="flex flex-col">
      <Place model={model} />
      <Status tone="warn" icon="pause">
        {count === model.candidates.length ? t('allDrained') : t('someDrained', { count })}
      </Status>
    </span>
  );
}

/** An own slot with its state, or upstream. */
function Place({ model }: { model: Model }) {
  const { t } = useTranslation('models');
  const format = useFormat();
  const local = model.candidates.find(({ is_local }) => is_local);
  if (local === undefined)
    return <Status tone="neutral">{t('upstream', { count: model.candidates.length })}</Status>;
  if (local.slot == null) return <Status tone="neutral">{t('local')}</Status>;
  const { state, is_failing, expected_start_ms, as_of, is_stale } = local.slot;
  const words = is_failing ? t('slot.FAILED') : t(`slot.${state}`, { defaultValue: state });
  const start =
    state === 'READY' || is_failing || expected_start_ms === null
      ? ''
      : ` · ~${format.duration(expected_start_ms)}`;
  const status = (
    <Status tone={is_failing ? 'bad' : (slotTones[state] ?? 'neutral')}>{`${words}${start}`}</Status>
  );
  if (!is_stale) return status;
  return (
    <span className="flex flex-col">
      {status}
      <span className="text-xs text-muted">
        <RelativeTime at={as_of} />
      </span>
    </span>
  );
}
