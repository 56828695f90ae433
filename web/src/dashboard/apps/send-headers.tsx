import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Banner } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { type Client, clients, programOf } from './programs.ts';

/** How a program states which app it is, for each kind of client. */
export function SendHeaders() {
  const { t } = useTranslation('apps');
  const models = useQuery(readQuery('GET /dashboard/api/models', {}));
  const context = {
    base: `${window.location.origin}/api/v1`,
    model: models.data?.items[0]?.id ?? 'author/model',
    message: t('send.message'),
  };
  return (
    <div className="flex flex-col gap-4">
      <Banner tone="accent">{t('notPublic')}</Banner>
      <ol className="flex max-w-180 list-decimal flex-col gap-1 pl-5 text-sm">
        <li>{t('send.referer')}</li>
        <li>{t('send.title_header')}</li>
        <li>{t('send.userAgent')}</li>
      </ol>
      <Tabs<Client>
        label={t('send.clients')}
        tabs={clients.map((value) => ({
          value,
          label: t(`send.client.${value}`),
          content: <CodeBlock label={t(`send.client.${value}`)} code={programOf(value, context)} />,
        }))}
      />
    </div>
  );
}
