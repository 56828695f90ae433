import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { sessionQuery } from '../../api/session.ts';
import { Link } from '../../app/link.tsx';
import { Page as Frame, Section } from '../../app/page.tsx';
import { useLanguage } from '../../i18n/use-format.ts';
import { buttonClass } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Programs } from '../apps/programs.tsx';
import { useModels } from '../models/model.ts';

/** How to begin, and where everything is described; open to anybody. */
export function Page() {
  const { t } = useTranslation('docs');
  const language = useLanguage();
  const { data: session } = useQuery(sessionQuery('dashboard'));
  const models = useModels();
  const isOwner = session !== undefined && session !== null;
  return (
    <Frame title={t('title')}>
      <Section title={t('start.title')}>
        <ol className="flex max-w-180 list-decimal flex-col gap-2 pl-5">
          <li>
            {t('start.key')}{' '}
            <Link to={isOwner ? '/keys' : '/sign-in'} className="underline">
              {t(isOwner ? 'start.toKeys' : 'start.toSignIn')}
            </Link>
          </li>
          <li>
            {t('start.model')}{' '}
            <Link to="/models" className="underline">
              {t('start.toModels')}
            </Link>
          </li>
          <li>{t('start.call')}</li>
        </ol>
        <CodeBlock
          label={t('start.environment')}
          code={`NARU_API_KEY=…\nOPENAI_BASE_URL=${window.location.origin}/api/v1`}
        />
        <Programs model={models.data?.items[0]?.id ?? 'author/model'} />
      </Section>
      <Section title={t('api.title')}>
        <p className="max-w-180">{t('api.text')}</p>
        <div className="flex flex-wrap gap-2">
          {/* Served beside the application, not by it. */}
          <a href={`/docs?lang=${language}`} className={buttonClass('primary')}>
            {t('api.open')}
          </a>
          <a href={`/openapi.json?lang=${language}`} className={buttonClass('secondary')}>
            {t('api.document')}
          </a>
        </div>
      </Section>
      <Section title={t('facts.title')}>
        <ul className="flex max-w-180 list-disc flex-col gap-1 pl-5">
          {(['compatible', 'won', 'stream', 'errors'] as const).map((fact) => (
            <li key={fact}>{t(`facts.${fact}`)}</li>
          ))}
        </ul>
      </Section>
    </Frame>
  );
}
