import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { change, newChangeKey, type ResponseOf } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { Section } from '../../app/page.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { Status } from '../../ui/badge.tsx';
import { Time } from '../../ui/figures.tsx';
import { Banner, EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';

type Run = ResponseOf<'GET /console/api/books'>['run'];
type Difference = NonNullable<Run>['differences'][number];

const tones = {
  running: 'accent',
  agrees: 'good',
  differs: 'bad',
  busy: 'warn',
  stopped: 'neutral',
  failed: 'bad',
} as const;

/** The verification under way with its progress, or the last one with what differed. */
export function Verification({ run }: { run: Run }) {
  const { t } = useTranslation('books');
  const language = useLanguage();
  const queries = useQueryClient();
  const acting = useMutation({
    mutationFn: (act: 'verify' | 'stop') =>
      act === 'verify'
        ? change('POST /console/api/books/verify', { body: {} }, newChangeKey())
        : change('POST /console/api/books/stop', { body: {} }, newChangeKey()),
    onSettled: () => queries.invalidateQueries({ queryKey: ['GET /console/api/books'] }),
  });
  const isRunning = run?.state === 'running';
  return (
    <Section
      title={t('verification')}
      note={t('verificationNote')}
      actions={
        <ActionButton
          needs="support"
          {...(isRunning ? { icon: 'stop' } : { icon: 'shield', variant: 'primary' })}
          isBusy={acting.isPending}
          onClick={() => acting.mutate(isRunning ? 'stop' : 'verify')}
        >
          {t(isRunning ? 'stop' : 'verify')}
        </ActionButton>
      }
    >
      {acting.isError ? <Banner tone="bad">{wordsOfError(acting.error, language, t)}</Banner> : null}
      {run === null ? <p className="text-sm text-muted">{t('notRun')}</p> : <RunState run={run} />}
    </Section>
  );
}

function RunState({ run }: { run: NonNullable<Run> }) {
  const { t } = useTranslation('books');
  const format = useFormat();
  const columns = useColumns();
  const isRunning = run.state === 'running';
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm" role="status">
        <Status tone={tones[run.state]}>{t(`state.${run.state}`)}</Status>
        <span className="text-muted">
          <Time at={Date.parse(run.ended_at ?? run.started_at)} style="second" /> · {run.started_by}
        </span>
        {run.checks === null ? null : (
          <span className="text-muted">
            {t('counts', {
              checks: format.count(run.checks),
              accounts: format.count(run.accounts ?? 0),
              entries: format.count(run.entries ?? 0),
              generations: format.count(run.generations ?? 0),
            })}
          </span>
        )}
      </div>
      {isRunning ? (
        <div className="flex max-w-150 flex-col gap-1">
          <div
            role="progressbar"
            aria-label={t('progress')}
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={Math.floor(run.share * 100)}
            className="h-1.5 overflow-hidden rounded-full bg-pressed"
          >
            <div className="h-full rounded-full bg-accent" style={{ width: `${run.share * 100}%` }} />
          </div>
          <p className="text-xs text-muted">
            {format.percent(run.share)} · <span lang="en">{run.check}</span>
          </p>
        </div>
      ) : null}
      {run.fault === null ? null : <Banner tone="bad">{run.fault}</Banner>}
      {run.state === 'differs' ? (
        <DataTable
          id="ledger-differences"
          label={t('differences')}
          columns={columns}
          rows={run.differences}
          rowId={({ check, subject }) => `${check} ${subject}`}
          empty={<EmptyState title={t('agreed')} />}
        />
      ) : null}
    </div>
  );
}

function useColumns(): readonly Column<Difference>[] {
  const { t } = useTranslation('books');
  return useMemo(
    () =>
      (['subject', 'check', 'expected', 'found'] as const).map(
        (name): Column<Difference> => ({
          id: name,
          header: t(`column.${name}`),
          cell: (row) => (
            <span className={name === 'check' ? 'text-muted' : 'font-mono text-xs'}>{row[name]}</span>
          ),
          value: (row) => row[name],
          isTitle: name === 'subject',
        }),
      ),
    [t],
  );
}
