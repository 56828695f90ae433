import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { reportConnection, useConnection } from '../api/connection.ts';
import { Banner } from '../ui/states.tsx';
import { useApp } from './area.ts';

const askEveryMs = 3_000;

/** The server does not respond: says so, asks until it does, then reads everything again. */
export function ServerAwayBanner() {
  const { t } = useTranslation();
  const { area } = useApp();
  const { isAway } = useConnection();
  const queries = useQueryClient();
  useEffect(() => {
    if (!isAway) return;
    const asking = new AbortController();
    const timer = setInterval(() => {
      void fetch(`/${area}/`, { method: 'HEAD', signal: asking.signal }).then(
        () => {
          reportConnection({ isAway: false });
          void queries.invalidateQueries();
        },
        () => {},
      );
    }, askEveryMs);
    return () => {
      clearInterval(timer);
      asking.abort();
    };
  }, [isAway, area, queries]);
  if (!isAway) return null;
  return (
    <div className="px-4 pt-3 lg:px-8">
      <Banner tone="warn" icon="cloudOff">
        {t('serverAway')}
      </Banner>
    </div>
  );
}
