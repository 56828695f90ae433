import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Badge } from '../../ui/badge.tsx';

/** How many requests for top-ups wait; nothing while none does. */
export function PendingBadge() {
  const { t } = useTranslation('navigation');
  const { data } = useQuery({ ...readQuery('GET /console/api/topups/pending', {}), refetchInterval: 15_000 });
  if (data === undefined || data.count === 0) return null;
  return (
    <Badge tone="warn">
      <span aria-hidden="true">{data.count}</span>
      <span className="sr-only">{t('waiting', { count: data.count })}</span>
    </Badge>
  );
}
