import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { Banner } from '../../ui/states.tsx';

type Meta = ResponseOf<'GET /dashboard/api/rankings/models'>['meta'];

/** Where the rows come from: the source with its licence, or a ribbon for invented ones. */
export function Origin({ meta, isSample }: { meta: Omit<Meta, 'version'>; isSample: boolean }) {
  const { t } = useTranslation('rankings');
  if (isSample)
    return (
      <Banner tone="warn">
        <strong className="mr-2">{t('sample.title')}</strong>
        {t('sample.text')}
      </Banner>
    );
  if (meta.citation == null) return null;
  return (
    <p className="text-xs text-muted">
      {meta.citation}{' '}
      {meta.license == null || meta.license_url == null ? null : (
        <>
          {t('licence')}{' '}
          <a href={meta.license_url} target="_blank" rel="noopener noreferrer license" className="underline">
            {meta.license}
          </a>
        </>
      )}
    </p>
  );
}
