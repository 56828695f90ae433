import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { languageNames } from '../../app/preference-menus.tsx';
import { setTheme, themes, useTheme } from '../../app/theme.ts';
import { changeLanguage } from '../../i18n/i18n.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { Segmented } from '../../ui/tabs.tsx';
import { refreshProfile } from './profile.ts';

/** Language and theme: at once in this browser, and for the owner in others that it signs in with. */
export function Display({ hasOwner }: { hasOwner: boolean }) {
  const { t } = useTranslation('settings');
  const language = useLanguage();
  const theme = useTheme();
  const queries = useQueryClient();
  const store = (body: { language: 'ko' | 'en' } | { theme: (typeof themes)[number] }): void => {
    if (!hasOwner) return;
    change('PATCH /dashboard/api/profile', { body }).then(
      (profile) => refreshProfile(queries, profile),
      // This browser has the choice all the same.
      () => undefined,
    );
  };
  return (
    <div className="flex flex-wrap gap-x-10 gap-y-4">
      <div>
        <p className="pb-1 text-sm font-medium">{t('common:language')}</p>
        <Segmented
          label={t('common:language')}
          value={language}
          onChange={(next) => {
            void changeLanguage(next);
            store({ language: next });
          }}
          options={[
            { value: 'ko', label: languageNames.ko },
            { value: 'en', label: languageNames.en },
          ]}
        />
      </div>
      <div>
        <p className="pb-1 text-sm font-medium">{t('common:theme.label')}</p>
        <Segmented
          label={t('common:theme.label')}
          value={theme}
          onChange={(next) => {
            setTheme(next);
            store({ theme: next });
          }}
          options={themes.map((value) => ({ value, label: t(`common:theme.${value}`) }))}
        />
      </div>
    </div>
  );
}
