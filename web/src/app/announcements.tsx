import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../api/query.ts';
import { sessionQuery } from '../api/session.ts';
import { useLanguage } from '../i18n/use-format.ts';
import { IconButton } from '../ui/button.tsx';
import { Banner } from '../ui/states.tsx';

const refreshMs = 60_000;
const storeName = 'naru.dismissed-announcements';
const tones = { info: 'accent', warning: 'warn', critical: 'bad' } as const;
const maxRemembered = 50;

/** What operators announce to account owners, above every page of the dashboard, until dismissed. */
export function Announcements() {
  const { t } = useTranslation();
  const language = useLanguage();
  const [dismissed, setDismissed] = useState(readDismissed);
  const session = useQuery(sessionQuery('dashboard'));
  const isSignedIn = session.data !== undefined && session.data !== null;
  const announced = useQuery({
    ...readQuery('GET /dashboard/api/announcements', {}),
    enabled: isSignedIn,
    refetchInterval: refreshMs,
  });
  const shown = announced.data?.items.filter(({ id }) => !dismissed.includes(id)) ?? [];
  if (!isSignedIn || shown.length === 0) return null;
  const dismiss = (id: number): void => {
    const next = [...dismissed, id].slice(-maxRemembered);
    setDismissed(next);
    writeDismissed(next);
  };
  return (
    <section
      aria-label={t('announcements')}
      className="mx-auto flex w-full max-w-290 flex-col gap-1 px-4 pt-3 lg:px-8"
    >
      {shown.map(({ id, level, text }) => (
        <Banner
          key={id}
          tone={tones[level]}
          action={<IconButton icon="close" size="sm" label={t('dismiss')} onClick={() => dismiss(id)} />}
        >
          {text[language]}
        </Banner>
      ))}
    </section>
  );
}

/** Those that this browser dismissed; none where it stores nothing. */
function readDismissed(): readonly number[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storeName) ?? '[]');
    return Array.isArray(stored) ? stored.filter((id): id is number => Number.isSafeInteger(id)) : [];
  } catch {
    return [];
  }
}

function writeDismissed(ids: readonly number[]): void {
  try {
    localStorage.setItem(storeName, JSON.stringify(ids));
  } catch {
    // It is shown again after a reload.
  }
}
