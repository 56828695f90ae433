import { useTranslation } from 'react-i18next';
import type { Language } from '../format/money.ts';
import { changeLanguage } from '../i18n/i18n.ts';
import { useLanguage } from '../i18n/use-format.ts';
import { IconButton } from '../ui/button.tsx';
import type { IconName } from '../ui/icons.tsx';
import { Menu } from '../ui/menu.tsx';
import { setTheme, type Theme, themes, useTheme } from './theme.ts';

/** Each language in its own words: a person must be able to find theirs. */
export const languageNames: Readonly<Record<Language, string>> = { ko: '한국어', en: 'English' };
export const themeIcons: Readonly<Record<Theme, IconName>> = {
  system: 'monitor',
  light: 'sun',
  dark: 'moon',
};

/** Korean or English. */
export function LanguageMenu() {
  const { t } = useTranslation();
  const language = useLanguage();
  return (
    <Menu
      trigger={<IconButton icon="globe" label={t('language')} />}
      items={[
        {
          kind: 'choice',
          label: t('language'),
          value: language,
          options: Object.entries(languageNames).map(([value, label]) => ({ value, label })),
          onChange: (value) => void changeLanguage(value === 'en' ? 'en' : 'ko'),
        },
      ]}
    />
  );
}

/** As the system, light or dark. */
export function ThemeMenu() {
  const { t } = useTranslation();
  const theme = useTheme();
  return (
    <Menu
      trigger={<IconButton icon={themeIcons[theme]} label={t('theme.label')} />}
      items={[
        {
          kind: 'choice',
          label: t('theme.label'),
          value: theme,
          options: themes.map((value) => ({ value, label: t(`theme.${value}`), icon: themeIcons[value] })),
          onChange: (value) => setTheme(themes.find((one) => one === value) ?? 'system'),
        },
      ]}
    />
  );
}
