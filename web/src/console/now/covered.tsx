import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Banner } from '../../ui/states.tsx';

/** How many processes of this server live values have, and how many they should have. */
type Processes = ResponseOf<'GET /console/api/now'>['processes'];

/** Which nodes live values cover: the processes of this server, and not the other nodes. */
export function Covered({ processes: { responding, expected } }: { processes: Processes }) {
  const { t } = useTranslation('now');
  const nodes = useQuery(readQuery('GET /console/api/nodes', {}));
  const live = nodes.data?.items.filter(({ is_live: isLive }) => isLive).length ?? null;
  // A process of this server that does not respond is a node, too: it is none of the others.
  const others = live === null ? 0 : live - Math.max(responding, expected);
  return (
    <>
      <p className="text-sm text-muted">
        {t('scope.own', { count: responding })}
        {others > 0 ? ` ${t('scope.others', { count: others })}` : ''}
        {live === null && nodes.isError ? ` ${t('scope.unknown')}` : ''}
      </p>
      {responding < expected ? (
        <Banner tone="warn">{t('scope.missing', { count: expected - responding })}</Banner>
      ) : null}
    </>
  );
}
