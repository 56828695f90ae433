import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, type Target } from '../app/link.tsx';
import { Page, Section } from '../app/page.tsx';
import { useFormat } from '../i18n/use-format.ts';
import { CodeBlock } from '../ui/code-block.tsx';
import { CopyableId } from '../ui/copy.tsx';
import { Duration, Figure, FigureRow, Money, None, Properties, Time } from '../ui/figures.tsx';
import { Candidates } from './candidates.tsx';
import { Outcome, tagsOf } from './columns.tsx';
import type { Detail } from './detail.ts';
import { Price } from './price.tsx';

export interface RequestDetailProps {
  readonly detail: Detail;
  readonly back: ReactNode;
  /** At the right of the heading. */
  readonly actions?: ReactNode;
  /** Where the key and the app of the request lead. */
  readonly keyLink: Target | null;
  readonly appLink: Target | null;
  /** How to read the record by API; without it only its JSON is shown. */
  readonly curl?: string;
}

/** One request: why this candidate answered, what the others did, and what each won was for. */
export function RequestDetail({ detail, back, actions, keyLink, appLink, curl }: RequestDetailProps) {
  const { t } = useTranslation('request');
  const { listing, record } = detail;
  return (
    <Page
      title={listing.model ?? listing.asked_model ?? t('title')}
      back={back}
      aside={<Outcome row={listing} />}
      actions={actions}
    >
      <Figures detail={detail} />
      <Section
        title={t('candidates')}
        note={detail.attempts.length === 0 ? undefined : t(`ordered.${detail.skipped?.ordered_by ?? 'file'}`)}
      >
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
              { name: t('key'), value: <Named name={listing.key?.name} link={keyLink} /> },
              { name: t('app'), value: <Named name={listing.app?.name} link={appLink} /> },
              { name: t('requests:column.user'), value: listing.user ?? <None /> },
              { name: t('requests:column.tags'), value: tagsOf(listing) || <None /> },
              { name: t('userAgent'), value: record.user_agent ?? <None /> },
              { name: t('finish'), value: listing.finish_reason ?? <None /> },
              { name: t('streamed'), value: t(listing.streamed === true ? 'yes' : 'no') },
              {
                name: t('ignored'),
                value:
                  record.ignored_parameters.length === 0 ? <None /> : record.ignored_parameters.join(', '),
              },
              {
                name: t('droppedParts'),
                value: record.dropped_parts.length === 0 ? <None /> : record.dropped_parts.join(', '),
              },
            ]}
          />
        </Section>
      </div>
      <Section title={t(curl === undefined ? 'record' : 'copy')}>
        {curl === undefined ? null : <CodeBlock label="curl" code={curl} isWrapped />}
        <details>
          <summary className="cursor-pointer text-sm text-muted">{t('json')}</summary>
          <div className="mt-2">
            <CodeBlock label="JSON" code={JSON.stringify(record, null, 2)} />
          </div>
        </details>
      </Section>
    </Page>
  );
}

function Figures({ detail }: { detail: Detail }) {
  const { t } = useTranslation('request');
  const format = useFormat();
  const { listing } = detail;
  return (
    <FigureRow>
      <Figure
        isMain
        label={t('cost')}
        note={t('atInstant', { at: format.time(detail.settled_at, 'second') })}
      >
        <Money micro={listing.cost_micro} />
      </Figure>
      <Figure
        label={t('tokens')}
        note={
          listing.reasoning_tokens === 0
            ? undefined
            : t('ofReasoning', { tokens: format.count(listing.reasoning_tokens) })
        }
      >
        {format.count(listing.prompt_tokens)} → {format.count(listing.completion_tokens)}
      </Figure>
      <Figure label={t('ttft')}>
        <Duration ms={listing.latency_ms} />
      </Figure>
      <Figure label={t('duration')}>
        <Duration ms={listing.generation_ms} />
      </Figure>
      {detail.admission_wait_ms === null ? null : (
        <Figure label={t('wait')} note={t('waitNote')}>
          <Duration ms={detail.admission_wait_ms} />
        </Figure>
      )}
    </FigureRow>
  );
}

function Named({ name, link }: { name: string | undefined; link: Target | null }) {
  if (name === undefined) return <None />;
  if (link === null) return <>{name}</>;
  return (
    <Link {...link} className="hover:underline">
      {name}
    </Link>
  );
}
