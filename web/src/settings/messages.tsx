import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { assertFirstAnswer, change, type ResponseOf } from '../api/client.ts';
import { wordsOfError } from '../api/errors.ts';
import { readQuery } from '../api/query.ts';
import { useApp } from '../app/area.ts';
import { Section } from '../app/page.tsx';
import { PagedTable } from '../app/paged-table.tsx';
import type { Area } from '../app/pages.ts';
import { useRefusal } from '../app/permission.tsx';
import { languageNames } from '../app/preference-menus.tsx';
import { ReadError } from '../app/read-error.tsx';
import { type ItemOf, usePages } from '../app/use-pages.ts';
import { useLanguage } from '../i18n/use-format.ts';
import { Status } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { CodeBlock } from '../ui/code-block.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Checkbox, Field, Input } from '../ui/field.tsx';
import { Time } from '../ui/figures.tsx';
import { Banner, EmptyState, SkeletonLines } from '../ui/states.tsx';
import type { Column } from '../ui/table/column.ts';
import { Segmented } from '../ui/tabs.tsx';
import { showToast } from '../ui/toast.tsx';

type Choices = ResponseOf<'GET /dashboard/api/messages'>;
type Kind = Choices['kinds'][number];
type Sent = ItemOf<'GET /dashboard/api/messages/log'>;

const queryOf = (area: Area) => readQuery(`GET /${area}/api/messages` as const, {});
const refreshMs = 5_000;
const tones = { sent: 'good', waiting: 'warn', failed: 'bad' } as const;

/** Which messages a person and a webhook get, a test of each, and what was sent. */
export function MessageSections() {
  const { t } = useTranslation('settings');
  const { area } = useApp();
  const query = useQuery(queryOf(area));
  const choices = query.data;
  const wait = query.isError ? <ReadError of={query} /> : <SkeletonLines lines={4} />;
  return (
    <>
      <Section title={t('message.email')} note={t('message.emailNote')}>
        {choices === undefined ? wait : <MailForm choices={choices} />}
      </Section>
      <Section title={t('message.webhook')} note={t(`message.webhookNote.${area}`)}>
        {choices === undefined ? wait : <WebhookForm choices={choices} />}
      </Section>
      <Section title={t('message.log')}>
        <SentMessages />
      </Section>
    </>
  );
}

function MailForm({ choices: { email, kinds } }: { choices: Choices }) {
  const { t } = useTranslation('settings');
  const { area } = useApp();
  const [address, setAddress] = useState(email.address ?? '');
  const [chosen, setChosen] = useState(email.kinds);
  const [language, setLanguage] = useState(email.language);
  const body = area === 'console' ? { address, kinds: chosen, language } : { kinds: chosen };
  const saving = useSaving(() => change(`PUT /${area}/api/messages/email` as const, { body }));
  if (!email.is_offered) return <p className="text-sm text-muted">{t('message.noMail')}</p>;
  if (area === 'dashboard' && email.address === null)
    return <p className="text-sm text-muted">{t('message.noOwner')}</p>;
  return (
    <Form onSave={() => saving.mutate()} saving={saving} tests={email.is_verified ? 'email' : null}>
      {area === 'console' ? (
        <>
          <Field label={t('email')}>
            <Input
              type="email"
              autoComplete="email"
              value={address}
              onChange={({ target }) => setAddress(target.value)}
            />
          </Field>
          <LanguageChoice language={language} onChange={setLanguage} />
        </>
      ) : (
        <p className="text-sm">
          {email.address}
          {email.is_verified ? null : <span className="text-warn"> · {t('message.unverified')}</span>}
        </p>
      )}
      <Kinds kinds={kinds} chosen={chosen} onChange={setChosen} />
    </Form>
  );
}

function WebhookForm({ choices: { webhook, kinds } }: { choices: Choices }) {
  const { t } = useTranslation('settings');
  const { area } = useApp();
  const refusal = useRefusal('admin');
  const pageLanguage = useLanguage();
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [chosen, setChosen] = useState(webhook?.kinds ?? kinds);
  const [language, setLanguage] = useState(webhook?.language ?? pageLanguage);
  const [secret, setSecret] = useState<string | null>(null);
  const saving = useSaving(async () => {
    const set = await change(`PUT /${area}/api/messages/webhook` as const, {
      body: { url: url.trim(), kinds: chosen, language },
    });
    assertFirstAnswer(set);
    setSecret(set.secret);
  });
  const removing = useSaving(async () => {
    await change(`DELETE /${area}/api/messages/webhook` as const, {});
    setUrl('');
  });
  if (area === 'console' && refusal !== null)
    return <p className="text-sm text-muted">{webhook === null ? refusal : `${webhook.url} · ${refusal}`}</p>;
  return (
    <Form
      onSave={() => saving.mutate()}
      saving={saving.isError ? saving : removing.isError ? removing : saving}
      tests={webhook === null ? null : 'webhook'}
      more={
        webhook === null ? null : (
          <Button icon="trash" isBusy={removing.isPending} onClick={() => removing.mutate()}>
            {t('remove')}
          </Button>
        )
      }
    >
      <Field label={t('message.url')} hint={t('message.urlHint')}>
        <Input type="url" required value={url} onChange={({ target }) => setUrl(target.value)} />
      </Field>
      <LanguageChoice language={language} onChange={setLanguage} />
      <Kinds kinds={kinds} chosen={chosen} onChange={setChosen} />
      {secret === null ? null : (
        <Dialog
          isOpen
          isLocked
          size="sm"
          onOpenChange={() => undefined}
          title={t('message.secretTitle')}
          description={t('message.secretText')}
          footer={
            <Button variant="primary" onClick={() => setSecret(null)}>
              {t('common:close')}
            </Button>
          }
        >
          <CodeBlock label={t('message.secret')} code={secret} isWrapped />
        </Dialog>
      )}
    </Form>
  );
}

/** A change of the choices, which are read again after it. */
function useSaving(save: () => Promise<unknown>) {
  const { t } = useTranslation('settings');
  const { area } = useApp();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: save,
    onSuccess: () => showToast({ tone: 'good', text: t('saved') }),
    onSettled: () => queries.invalidateQueries({ queryKey: queryOf(area).queryKey }),
  });
}

function Form(props: {
  onSave: () => void;
  saving: ReturnType<typeof useSaving>;
  /** The channel that can be tested. */
  tests: 'email' | 'webhook' | null;
  more?: ReactNode;
  children: ReactNode;
}) {
  const { t } = useTranslation('settings');
  const language = useLanguage();
  const { area } = useApp();
  const queries = useQueryClient();
  const { saving, tests } = props;
  const testing = useMutation({
    mutationFn: (channel: 'email' | 'webhook') =>
      change(`POST /${area}/api/messages/test` as const, { body: { channel } }),
    onSuccess: () => {
      showToast({ tone: 'good', text: t('message.tested') });
      void queries.invalidateQueries({ queryKey: [`GET /${area}/api/messages/log`] });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!saving.isPending) props.onSave();
  };
  const error = saving.error ?? testing.error;
  return (
    <form className="flex max-w-150 flex-col gap-3" onSubmit={submit}>
      {props.children}
      {error === null ? null : <Banner tone="bad">{wordsOfError(error, language, t)}</Banner>}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" isBusy={saving.isPending}>
          {t('common:save')}
        </Button>
        {tests === null ? null : (
          <Button isBusy={testing.isPending} onClick={() => testing.mutate(tests)}>
            {t('message.test')}
          </Button>
        )}
        {props.more}
      </div>
    </form>
  );
}

function Kinds(props: {
  kinds: readonly Kind[];
  chosen: readonly Kind[];
  onChange: (chosen: Kind[]) => void;
}) {
  const { t } = useTranslation('settings');
  const { kinds, chosen, onChange } = props;
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="pb-1 text-sm font-medium">{t('message.kinds')}</legend>
      {kinds.map((kind) => (
        <Checkbox
          key={kind}
          label={t(`message.kind.${kind}`)}
          checked={chosen.includes(kind)}
          onChange={({ target }) =>
            onChange(kinds.filter((one) => (one === kind ? target.checked : chosen.includes(one))))
          }
        />
      ))}
    </fieldset>
  );
}

function LanguageChoice(props: { language: 'ko' | 'en'; onChange: (language: 'ko' | 'en') => void }) {
  const { t } = useTranslation('settings');
  return (
    <div>
      <p className="pb-1 text-sm font-medium">{t('common:language')}</p>
      <Segmented
        label={t('common:language')}
        value={props.language}
        onChange={props.onChange}
        options={[
          { value: 'ko', label: languageNames.ko },
          { value: 'en', label: languageNames.en },
        ]}
      />
    </div>
  );
}

function SentMessages() {
  const { t } = useTranslation('settings');
  const { area } = useApp();
  const pages = usePages(`GET /${area}/api/messages/log` as const, {}, { refetchMs: refreshMs });
  const columns = useColumns();
  return (
    <PagedTable
      id="messages"
      label={t('message.log')}
      columns={columns}
      pages={pages}
      rowId={({ id }) => String(id)}
      empty={<EmptyState title={t('message.empty')}>{t('message.emptyText')}</EmptyState>}
    />
  );
}

function useColumns(): readonly Column<Sent>[] {
  const { t } = useTranslation('settings');
  return useMemo(
    (): readonly Column<Sent>[] => [
      {
        id: 'kind',
        header: t('message.column.kind'),
        cell: (row) => t(`message.kind.${row.kind}`, { defaultValue: row.kind }),
        value: (row) => row.kind,
        isTitle: true,
      },
      {
        id: 'state',
        header: t('message.column.state'),
        kind: 'state',
        cell: (row) => <Status tone={tones[row.state]}>{t(`message.state.${row.state}`)}</Status>,
        value: (row) => row.state,
        isMainFigure: true,
      },
      {
        id: 'created',
        header: t('message.column.created'),
        kind: 'time',
        cell: (row) => <Time at={row.created_at} style="second" />,
        value: (row) => Date.parse(row.created_at),
      },
      {
        id: 'recipient',
        header: t('message.column.recipient'),
        cell: (row) => row.recipient,
        value: (row) => row.recipient,
      },
      {
        id: 'error',
        header: t('message.column.error'),
        cell: (row) =>
          row.error === null ? null : `${row.error} (${t('message.attempts', { count: row.attempts })})`,
        value: (row) => row.error,
      },
    ],
    [t],
  );
}
