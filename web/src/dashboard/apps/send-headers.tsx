import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { Banner } from '../../ui/states.tsx';
import { Programs } from './programs.tsx';

/** How a program states which app it is, for each kind of client. */
export function SendHeaders() {
  const { t } = useTranslation('apps');
  const models = useQuery(readQuery('GET /dashboard/api/models', {}));
  return (
    <div className="flex flex-col gap-4">
      <Banner tone="accent">{t('notPublic')}</Banner>
      <ol className="flex max-w-180 list-decimal flex-col gap-1 pl-5 text-sm">
        <li>{t('send.referer')}</li>
        <li>{t('send.title_header')}</li>
        <li>{t('send.userAgent')}</li>
      </ol>
      <Programs model={models.data?.items[0]?.id ?? 'author/model'} />
    </div>
  );
}
