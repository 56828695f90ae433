import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ApiError, wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame, Section } from '../../app/page.tsx';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { CopyableId } from '../../ui/copy.tsx';
import { Figure, FigureRow, Money, None, Properties, Time } from '../../ui/figures.tsx';
import { EmptyState, ErrorState, SkeletonLines } from '../../ui/states.tsx';
import { Outcome } from '../requests/columns.tsx';
import { Candidates } from './candidates.tsx';
import type { Detail } from './detail.ts';
import { Price } from './price.tsx';

/** U3d: why this candidate answered, what the others did, and what each won was for. */
export function Page() {
  const { t } = useTranslation('request');
  const language = useLanguage();
  const { id = '' } = useParams({ strict: false }) as { readonly id?: string };
  const request = useQuery(readQuery('GET /dashboard/api/generations/{id}', { params: { id } }));
  const back = (
    <Link to="/requests" search={((before: object) => before) as never} className="hover:underline">
      {t('back')}
    </Link>
  );
  if (request.data !== undefined) return <Shown detail={request.data} back={back} />;
  return (
    <Frame title={t('title')} back={back}>
      {request.error instanceof ApiError && request.error.status === 404 ? (
        <EmptyState title={t('missing.title')}>{t('missing.text')}</EmptyState>
      ) : request.isError ? (
        <ErrorState onRetry={() => void request.refetch()} isRetrying={request.isFetching}>
          {wordsOfError(request.error, language, t)}
        </ErrorState>
      ) : (
        <SkeletonLines lines={8} />
      )}
    </Frame>
  );
}

function Shown({ detail, back }: { detail: Detail; back: React.ReactNode }) {
  const { t } = useTranslation('request');
  const format = useFormat();
  const { listing, record } = detail;
  const duration = (ms: number | null): React.ReactNode => (ms === null ? <None /> : format.duration(ms));
  return (
    <Frame
      title={listing.model ?? listing.asked_model ?? t('title')}
      back={back}
      aside={<Outcome row={listing} />}
    >
      <FigureRow>
        <Figure
          isMain
          label={t('cost')}
          note={t('atInstant', { at: format.time(detail.settled_at, 'second') })}
        >
          <Money micro={listing.cost_micro} />
        </Figure>
        <Figure label={t('tokens')}>
          {format.count(listing.prompt_tokens)} → {format.count(listing.completion_tokens)}
        </Figure>
        <Figure label={t('ttft')}>{duration(listing.latency_ms)}</Figure>
        <Figure label={t('duration')}>{duration(listing.generation_ms)}</Figure>
        {detail.admission_wait_ms === null ? null : (
          <Figure label={t('wait')} note={t('waitNote')}>
            {duration(detail.admission_wait_ms)}
          </Figure>
        )}
      </FigureRow>
      <Section title={t('candidates')} note={t(`ordered.${detail.skipped?.ordered_by ?? 'file'}`)}>
        <Candidates detail={detail} />
      </Section>
      <div className="grid gap-8 lg:grid-cols-2">
        <Section title={t('price')}>
          <Price detail={detail} />
        </Section>
        <Section title={t('about')}>
          <Properties
            rows={[
              {
                name: t('generationId'),
                value: <CopyableId id={listing.id} label={t('generationId')} maxChars={30} />,
              },
              {
                name: t('requestId'),
                value: <CopyableId id={listing.request_id} label={t('requestId')} maxChars={30} />,
              },
              { name: t('time'), value: <Time at={listing.created_at} style="millisecond" /> },
              { name: t('key'), value: listing.key?.name ?? <None /> },
              { name: t('app'), value: listing.app?.name ?? <None /> },
              { name: t('userAgent'), value: record.user_agent ?? <None /> },
              { name: t('finish'), value: listing.finish_reason ?? <None /> },
              { name: t('streamed'), value: t(listing.streamed === true ? 'yes' : 'no') },
              {
                name: t('ignored'),
                value:
                  record.ignored_parameters.length === 0 ? <None /> : record.ignored_parameters.join(', '),
              },
            ]}
          />
        </Section>
      </div>
      <Section title={t('copy')}>
        <CodeBlock label="curl" code={curlOf(listing.id)} isWrapped />
        <details>
          <summary className="cursor-pointer text-sm text-muted">{t('json')}</summary>
          <div className="mt-2">
            <CodeBlock label="JSON" code={JSON.stringify(record, null, 2)} />
          </div>
        </details>
      </Section>
    </Frame>
  );
}

function curlOf(id: string): string {
  return `curl '${window.location.origin}/api/v1/generation?id=${id}' -H "Authorization: Bearer $NARU_API_KEY"`;
}
