import { useTranslation } from 'react-i18next';
import { useFormat } from '../../i18n/use-format.ts';
import { Duration, Figure, FigureRow, None } from '../../ui/figures.tsx';
import { OpenLink } from '../open/open-link.tsx';
import { UsageLink } from '../usage-link.tsx';
import type { Now } from './data.ts';

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
      <Figure label={t('openStreams')}>
        <OpenLink view={{ phase: 'responding' }}>{format.count(now.open_streams)}</OpenLink>
      </Figure>
      <Figure label={t('openRequests')}>
        <OpenLink view={{}}>{format.count(now.open_requests)}</OpenLink>
      </Figure>
      <Figure label={t('waiting')}>
        <OpenLink view={{ phase: 'waiting' }}>{format.count(now.waiting_for_credit)}</OpenLink>
      </Figure>
      <Figure label={t('backlog')} note={t('journal', { bytes: format.bytes(now.journal_bytes) })}>
        <OpenLink view={{ view: 'unsettled' }}>{format.count(now.backlog)}</OpenLink>
      </Figure>
      <Figure
        label={t('lag')}
        note={lag === null ? t('noSettlement') : t('lagMax', { max: format.duration(lag.max_ms) })}
      >
        {lag === null ? (
          <None />
        ) : (
          <OpenLink view={{ view: 'unsettled' }}>
            <Duration ms={lag.mean_ms} />
          </OpenLink>
        )}
      </Figure>
    </FigureRow>
  );
}
