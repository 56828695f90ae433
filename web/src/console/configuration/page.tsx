import { useMutation, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, newChangeKey, type ResponseOf } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { Page as Frame, Section } from '../../app/page.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { Badge } from '../../ui/badge.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { None } from '../../ui/figures.tsx';
import { Banner, EmptyState, SkeletonLines } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { showToast } from '../../ui/toast.tsx';

type Configuration = ResponseOf<'GET /console/api/configuration'>;
type Value = Configuration['values'][number];
type Difference = Configuration['differences'][number];

const refreshMs = 5_000;

/** A13: what is in effect and where it comes from, what the file would change, and reloading it. */
export function Page() {
  const { t } = useTranslation('configuration');
  const configuration = useQuery({
    ...readQuery('GET /console/api/configuration', {}),
    refetchInterval: refreshMs,
  });
  const { data } = configuration;
  return (
    <Frame
      title={t('title')}
      actions={data === undefined ? null : <Reload data={data} onDone={() => void configuration.refetch()} />}
    >
      <p className="text-sm text-muted">{t('scope')}</p>
      {data === undefined ? (
        configuration.isError ? (
          <ReadError of={configuration} />
        ) : (
          <SkeletonLines lines={6} />
        )
      ) : (
        <>
          <FileState data={data} />
          <Section title={t('differences')} note={t('differencesNote')}>
            <Differences rows={data.differences} />
          </Section>
          <Section title={t('values')} note={t('valuesNote')}>
            <Values rows={data.values} />
          </Section>
        </>
      )}
    </Frame>
  );
}

/** Which file it is, its faults, and how the last reload ended. */
function FileState({ data }: { data: Configuration }) {
  const { t } = useTranslation('configuration');
  const format = useFormat();
  const last = data.last_reload;
  return (
    <div className="flex flex-col gap-2">
      <p className="text-sm">
        {data.file === null ? t('noFile') : <span className="font-mono text-xs break-all">{data.file}</span>}
        {last === null || last.error !== null ? null : (
          <span className="ml-3 text-muted">{t('lastReload', { at: format.time(last.at, 'second') })}</span>
        )}
      </p>
      {last === null || last.error === null ? null : (
        <Banner tone="warn">
          {t('lastFailed', { at: format.time(last.at, 'second'), error: last.error })}
        </Banner>
      )}
      {data.faults.length === 0 ? null : (
        <>
          <Banner tone="bad">{t('faults', { count: data.faults.length })}</Banner>
          <CodeBlock code={data.faults.join('\n')} label={t('faultList')} isWrapped />
        </>
      )}
    </div>
  );
}

function Differences({ rows }: { rows: readonly Difference[] }) {
  const { t } = useTranslation('configuration');
  const columns = useMemo((): readonly Column<Difference>[] => {
    const side = (id: 'running' | 'on_disk', header: string): Column<Difference> => ({
      id,
      header,
      cell: (row) => {
        const value = row[id];
        return value === null ? <None /> : <Text>{value}</Text>;
      },
      value: (row) => row[id],
    });
    return [
      pathColumn(t('column.path')),
      side('running', t('column.running')),
      side('on_disk', t('column.onDisk')),
    ];
  }, [t]);
  return (
    <DataTable
      id="configuration-differences"
      isPlain
      label={t('differences')}
      columns={columns}
      rows={rows}
      rowId={({ path }) => path}
      empty={<EmptyState icon="checkCircle" title={t('same')} />}
    />
  );
}

function Values({ rows }: { rows: readonly Value[] }) {
  const { t } = useTranslation('configuration');
  const [search, setSearch] = useState('');
  const shown = useMemo(() => {
    const wanted = search.trim().toLowerCase();
    return rows.filter(({ path, value }) => `${path} ${value}`.toLowerCase().includes(wanted));
  }, [rows, search]);
  const columns = useMemo(
    (): readonly Column<Value>[] => [
      pathColumn(t('column.path')),
      {
        id: 'value',
        header: t('column.value'),
        cell: ({ value }) => <Text>{value}</Text>,
        value: ({ value }) => value,
      },
      {
        id: 'origin',
        header: t('column.origin'),
        cell: ({ origin }) => (
          <Badge tone={origin === 'default' ? 'neutral' : 'accent'}>{t(`origin.${origin}`)}</Badge>
        ),
        value: ({ origin }) => origin,
        isMainFigure: true,
      },
    ],
    [t],
  );
  return (
    <DataTable
      id="configuration"
      label={t('values')}
      columns={columns}
      rows={shown}
      rowId={({ path }) => path}
      empty={<EmptyState icon="gear" title={t('nothing')} />}
      tools={
        <div className="w-72 max-md:w-full">
          <Input
            type="search"
            aria-label={t('search')}
            placeholder={t('search')}
            value={search}
            onChange={({ target }) => setSearch(target.value)}
          />
        </div>
      }
    />
  );
}

function pathColumn<Row extends { readonly path: string }>(header: string): Column<Row> {
  return {
    id: 'path',
    header,
    cell: ({ path }) => <Text>{path}</Text>,
    value: ({ path }) => path,
    isTitle: true,
  };
}

function Text({ children }: { children: string }) {
  return <span className="font-mono text-xs break-all">{children}</span>;
}

/** Applies the file; says first what it changes. */
function Reload({ data, onDone }: { data: Configuration; onDone: () => void }) {
  const { t } = useTranslation('configuration');
  const language = useLanguage();
  const [changeKey, setChangeKey] = useState<string | null>(null);
  const [reason, setReason] = useState('');
  const reloading = useMutation({
    mutationFn: () =>
      change(
        'POST /console/api/configuration/reload',
        { body: reason.trim() === '' ? {} : { reason: reason.trim() } },
        changeKey ?? newChangeKey(),
      ),
    onSuccess: ({ error }) => {
      setChangeKey(null);
      showToast(error === null ? { tone: 'good', text: t('reloaded') } : { tone: 'bad', text: error });
    },
    onSettled: onDone,
  });
  return (
    <>
      <ActionButton needs="admin" icon="refresh" onClick={() => setChangeKey(newChangeKey())}>
        {t('reload')}
      </ActionButton>
      <ConfirmDialog
        isOpen={changeKey !== null}
        onOpenChange={(isOpen) => setChangeKey(isOpen ? newChangeKey() : null)}
        title={t('reloadTitle')}
        description={t('reloadText', { count: data.differences.length })}
        confirmText={t('reload')}
        isBusy={reloading.isPending}
        error={reloading.error === null ? undefined : wordsOfError(reloading.error, language, t)}
        onConfirm={() => reloading.mutate()}
      >
        <Field label={t('reason')} optionalText={t('common:optional')}>
          <Input value={reason} onChange={({ target }) => setReason(target.value)} maxLength={500} />
        </Field>
      </ConfirmDialog>
    </>
  );
}
