import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { None, Properties, Time } from '../../ui/figures.tsx';
import type { AppDetail } from '../apps/app.ts';

/** How the app was recognised, with the headers of its latest request as they came. */
export function Recognition({ app, last }: { app: AppDetail['app']; last: AppDetail['last_request'] }) {
  const { t } = useTranslation('apps');
  return (
    <Properties
      rows={[
        { name: t('column.recognised'), value: t(`recognised.${app.recognised_by}`) },
        { name: t('recognition.recordedName'), value: app.recorded_name },
        { name: t('recognition.url'), value: <Header text={app.url} /> },
        { name: t('column.firstSeen'), value: <Time at={app.first_seen_at} style="second" /> },
        { name: t('column.lastSeen'), value: app.last_seen_on ?? <None /> },
        {
          name: t('recognition.lastRequest'),
          value:
            last === null ? (
              <None />
            ) : (
              <Link to={`/requests/${last.id}`} className="underline">
                <Time at={last.created_at} style="second" />
              </Link>
            ),
        },
        { name: t('recognition.title_header'), value: <Header text={last?.title ?? null} /> },
        { name: t('recognition.referer'), value: <Header text={last?.referer ?? null} /> },
        { name: t('recognition.userAgent'), value: <Header text={last?.user_agent ?? null} /> },
      ]}
    />
  );
}

/** Text from outside: never a link, and long texts wrap. */
function Header({ text }: { text: string | null }) {
  return text === null ? <None /> : <span className="font-mono text-xs break-all">{text}</span>;
}
