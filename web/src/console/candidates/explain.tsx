import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { ReadError } from '../../app/read-error.tsx';
import { useLanguage } from '../../i18n/use-format.ts';
import { Button } from '../../ui/button.tsx';
import { Checkbox, Field, Input } from '../../ui/field.tsx';
import { None } from '../../ui/figures.tsx';
import { Banner, EmptyState } from '../../ui/states.tsx';
import type { Column } from '../../ui/table/column.ts';
import { DataTable } from '../../ui/table/data-table.tsx';

type Row = ResponseOf<'GET /console/api/route'>['candidates'][number];
type Question = Parameters<typeof readQuery<'GET /console/api/route'>>[1]['query'];

/** Where a request would go now, without sending one. */
export function Explain({ models }: { models: readonly string[] }) {
  const { t } = useTranslation('candidates');
  const language = useLanguage();
  const [question, setQuestion] = useState<Question | null>(null);
  const [model, setModel] = useState('');
  const [tokens, setTokens] = useState('1000');
  const [key, setKey] = useState('');
  const [image, setImage] = useState(false);
  const [tools, setTools] = useState(false);
  const answer = useQuery({
    ...readQuery('GET /console/api/route', { query: question ?? { models: 'none' } }),
    enabled: question !== null,
  });
  // A whole key never leaves the browser.
  const isHash = /^(?:[0-9a-f]{6,64})?$/.test(key);
  const asked = (): void =>
    setQuestion({
      models: model.trim() === '' ? (models[0] ?? '') : model.trim(),
      prompt_tokens: /^\d+$/.test(tokens) ? Number(tokens) : 0,
      ...(key === '' ? {} : { key }),
      ...(image ? { image: '1' as const } : {}),
      ...(tools ? { tools: '1' as const } : {}),
    });
  return (
    <div className="flex flex-col gap-4">
      <form
        className="flex flex-wrap items-end gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (isHash) asked();
        }}
      >
        <Field label={t('explain.models')} className="w-80 max-md:w-full">
          <Input
            value={model}
            placeholder={models[0] ?? ''}
            list="console-models"
            onChange={({ target }) => setModel(target.value)}
          />
        </Field>
        <datalist id="console-models">
          {models.map((id) => (
            <option key={id} value={id} />
          ))}
        </datalist>
        <Field label={t('explain.tokens')} className="w-32">
          <Input isNumeric value={tokens} onChange={({ target }) => setTokens(target.value)} />
        </Field>
        <Field
          label={t('explain.key')}
          optionalText={t('common:optional')}
          error={isHash ? null : t('explain.keyError')}
          className="w-56 max-md:w-full"
        >
          <Input value={key} onChange={({ target }) => setKey(target.value.trim().toLowerCase())} />
        </Field>
        <Checkbox
          label={t('explain.image')}
          checked={image}
          onChange={({ target }) => setImage(target.checked)}
        />
        <Checkbox
          label={t('explain.tools')}
          checked={tools}
          onChange={({ target }) => setTools(target.checked)}
        />
        <Button type="submit" variant="primary" isBusy={answer.isFetching}>
          {t('explain.run')}
        </Button>
      </form>
      {answer.isError ? (
        <ReadError of={answer} />
      ) : answer.data === undefined ? null : answer.data.refusal !== null ? (
        <Banner tone="warn">{answer.data.refusal[language]}</Banner>
      ) : (
        <Answer rows={answer.data.candidates} />
      )}
    </div>
  );
}

function Answer({ rows }: { rows: readonly Row[] }) {
  const { t } = useTranslation('candidates');
  const language = useLanguage();
  const whyOf = useCallback(
    ({ why, why_ko: korean }: Row): string => (language === 'ko' ? korean : why),
    [language],
  );
  const columns = useMemo(
    (): readonly Column<Row>[] => [
      {
        id: 'place',
        header: t('column.place'),
        kind: 'number',
        cell: ({ place }) => place ?? <None />,
        value: ({ place }) => place ?? Number.MAX_SAFE_INTEGER,
        isMainFigure: true,
      },
      {
        id: 'candidate',
        header: t('column.candidate'),
        cell: ({ candidate }) => <span className="font-mono text-xs break-all">{candidate}</span>,
        value: ({ candidate }) => candidate,
        isTitle: true,
      },
      { id: 'why', header: t('column.why'), cell: whyOf, value: whyOf },
    ],
    [t, whyOf],
  );
  return (
    <DataTable
      id="route"
      isPlain
      label={t('explain.title')}
      columns={columns}
      rows={rows}
      rowId={({ model, candidate }) => `${model} ${candidate}`}
      empty={<EmptyState title={t('noCandidates')} />}
    />
  );
}
