import { useTranslation } from 'react-i18next';
import { useFormat } from '../../i18n/use-format.ts';
import { Duration, Figure, FigureRow, None } from '../../ui/figures.tsx';
import { UsageLink } from '../usage-link.tsx';
import type { Now } from './page.tsx';

/** The load of this server, and how far its settlements are. */
export function Figures({ now }: { now: Now }) {
  const { t } = useTranslation('now');
  const format = useFormat();
  const lag = now.settlement_lag;
  return (
    <FigureRow>
      <Figure
        isMain
        label={t('perSecond')}
        note={
          <UsageLink view={{ metric: 'requests', by: 'model' }}>
            {t('over10s')} · {t('showToday')}
          </UsageLink>
        }
      >
        {format.rate(now.requests_per_second)}
      </Figure>
      <Figure label={t('openStreams')}>{format.count(now.open_streams)}</Figure>
      <Figure label={t('openRequests')}>{format.count(now.open_requests)}</Figure>
      <Figure label={t('waiting')}>{format.count(now.waiting_for_credit)}</Figure>
      <Figure label={t('backlog')} note={t('journal', { bytes: format.bytes(now.journal_bytes) })}>
        {format.count(now.backlog)}
      </Figure>
      <Figure
        label={t('lag')}
        note={lag === null ? t('noSettlement') : t('lagMax', { max: format.duration(lag.max_ms) })}
      >
        {lag === null ? <None /> : <Duration ms={lag.mean_ms} />}
      </Figure>
    </FigureRow>
  );
}
