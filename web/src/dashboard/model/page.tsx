import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { sessionQuery } from '../../api/session.ts';
import { Link } from '../../app/link.tsx';
import { Page as Frame, Section } from '../../app/page.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { Badge } from '../../ui/badge.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { Figure, FigureRow, None, Properties } from '../../ui/figures.tsx';
import { EmptyState, SkeletonLines } from '../../ui/states.tsx';
import { Programs } from '../apps/programs.tsx';
import { type Model, useModels } from '../models/model.ts';
import { Candidates } from './candidates.tsx';

/** One model: what it takes, what it costs, who answers, and how to call it; open to anybody. */
export function Page() {
  const { t } = useTranslation('model');
  const { author = '', slug = '' } = useParams({ strict: false }) as {
    readonly author?: string;
    readonly slug?: string;
  };
  const model = useQuery(
    readQuery('GET /dashboard/api/public/models/{author}/{slug}', { params: { author, slug } }),
  );
  const back = (
    <Link to="/models" className="hover:underline">
      {t('back')}
    </Link>
  );
  if (model.data !== undefined) return <Shown model={model.data.model} back={back} />;
  return (
    <Frame title={`${author}/${slug}`} back={back}>
      {model.error instanceof ApiError && model.error.status === 404 ? (
        <EmptyState icon="model" title={t('missing.title')}>
          {t('missing.text')}
        </EmptyState>
      ) : model.isError ? (
        <ReadError of={model} />
      ) : (
        <SkeletonLines lines={8} />
      )}
    </Frame>
  );
}

function Shown({ model, back }: { model: Model; back: ReactNode }) {
  const { t } = useTranslation('model');
  const format = useFormat();
  const { data: session } = useQuery(sessionQuery('dashboard'));
  // Owners also see which candidates are drained.
  const listed = useModels().data?.items.find(({ id }) => id === model.id);
  const { price } = model;
  return (
    <Frame
      title={model.name}
      back={back}
      aside={<CopyableId id={model.id} label={t('id')} maxChars={60} />}
      actions={
        session == null ? null : (
          <Link to="/usage" search={{ model: model.id }} className="text-sm underline">
            {t('ownUsage')}
          </Link>
        )
      }
    >
      {model.description === '' ? null : <p className="max-w-180">{model.description}</p>}
      <FigureRow>
        <Figure label={t('price.prompt')}>{format.pricePerMillion(price.prompt_micro)}</Figure>
        <Figure label={t('price.completion')}>{format.pricePerMillion(price.completion_micro)}</Figure>
        <Figure label={t('price.cacheRead')}>{format.pricePerMillion(price.cache_read_micro)}</Figure>
        <Figure label={t('models:column.context')}>{format.count(model.context_length)}</Figure>
        <Figure label={t('models:column.maxOutput')}>{format.count(model.max_completion_tokens)}</Figure>
      </FigureRow>
      <Section title={t('can')}>
        <Properties
          rows={[
            { name: t('inputs'), value: <Words all={model.input_modalities} /> },
            { name: t('outputs'), value: <Words all={model.output_modalities} /> },
            { name: t('parameters'), value: <Words all={model.supported_parameters} /> },
            { name: t('knowledge'), value: model.knowledge_cutoff ?? <None /> },
          ]}
        />
      </Section>
      <Section title={t('candidates')} note={t('ownTraffic')}>
        <Candidates model={listed ?? model} />
      </Section>
      <Section title={t('call')}>
        <Programs model={model.id} />
      </Section>
    </Frame>
  );
}

function Words({ all }: { all: readonly string[] }) {
  if (all.length === 0) return <None />;
  return (
    <span className="flex flex-wrap gap-1">
      {all.map((one) => (
        <Badge key={one}>
          <code>{one}</code>
        </Badge>
      ))}
    </span>
  );
}
