import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { Button } from '../../ui/button.tsx';
import { showToast } from '../../ui/toast.tsx';
import { type AppDetail, useRefreshApps } from '../apps/app.ts';

/** The apps that count as this one; each can be separated again. */
export function MergedApps({ apps }: { apps: AppDetail['app']['merged'] }) {
  const { t } = useTranslation('apps');
  const language = useLanguage();
  const refresh = useRefreshApps();
  const separating = useMutation({
    mutationFn: ({ id }: { readonly id: number; readonly name: string }) =>
      change('PATCH /dashboard/api/apps/{id}', { params: { id: String(id) }, body: { merged_into: null } }),
    onSuccess: (_changed, { name }) => showToast({ tone: 'good', text: t('separated', { name }) }),
    onError: (error) => showToast({ tone: 'bad', text: wordsOfError(error, language, t) }),
    onSettled: refresh,
  });
  return (
    <ul className="max-w-120 border-y text-sm">
      {apps.map((app) => (
        <li key={app.id} className="flex items-center gap-3 border-b py-1.5 last:border-b-0">
          <span className="min-w-0 flex-1 truncate">{app.name}</span>
          <Button
            size="sm"
            aria-label={t('separateOf', { name: app.name })}
            isBusy={separating.isPending && separating.variables.id === app.id}
            onClick={() => separating.mutate(app)}
          >
            {t('separate')}
          </Button>
        </li>
      ))}
    </ul>
  );
}
