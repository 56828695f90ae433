import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { DownloadButton } from '../../app/download-button.tsx';
import { Page as Frame, Section } from '../../app/page.tsx';
import { PagedTable } from '../../app/paged-table.tsx';
import { ReadError } from '../../app/read-error.tsx';
import { type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { useMonths } from '../../app/use-months.ts';
import { usePages } from '../../app/use-pages.ts';
import { parseMicro } from '../../format/money.ts';
import { problemOfDays } from '../../format/range.ts';
import { seoulDay, seoulMonthStart, startOfDay } from '../../format/time.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { Field, Input, Select } from '../../ui/field.tsx';
import { Figure, FigureRow, Money, None } from '../../ui/figures.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { useMarginColumns, useStatementColumns } from './columns.tsx';

const schema: SearchSchema<{ from: string; to: string }> = { from: text(), to: text() };
/** Books are kept for five years. */
const offeredMs = 5 * 366 * 86_400_000;
interface Days {
  readonly from: string;
  readonly to: string;
}

/** The sums of a month for tax invoices, and its margin; the month is this one unless chosen. */
export function Page() {
  const { t } = useTranslation('month-end');
  const [stated, change] = useSearchParams(schema);
  const [thisMonth] = useState(() => monthAt(seoulMonthStart(Date.now())));
  const isStated = startOfDay(stated.from) !== null && startOfDay(stated.to) !== null;
  const days = isStated ? stated : thisMonth;
  const problem = problemOfDays(days.from, days.to);
  return (
    <Frame title={t('title')} actions={<ChosenDays days={days} problem={problem} onChange={change} />}>
      {problem === null ? <Month days={days} /> : <EmptyState title={t(`common:range.problem.${problem}`)} />}
    </Frame>
  );
}

/** A whole month, or any days. */
function ChosenDays({
  days,
  problem,
  onChange,
}: {
  days: Days;
  problem: string | null;
  onChange: (days: Partial<Days>) => void;
}) {
  const { t } = useTranslation('month-end');
  const [since] = useState(() => Date.now() - offeredMs);
  const month = days.from.slice(0, 7);
  const isMonth = days.to === monthAt(`${month}-01`).to && days.from.endsWith('-01');
  const months = useMonths(since, isMonth ? month : '');
  const options = isMonth ? months : [{ value: '', label: t('chosenDays') }, ...months];
  const set = (name: keyof Days, value: string): void =>
    value === '' ? undefined : onChange({ ...days, [name]: value });
  return (
    <div className="flex flex-wrap items-end gap-2 max-md:grid max-md:w-full max-md:grid-cols-2">
      <Field label={t('month')} className="max-md:col-span-2">
        <Select
          value={isMonth ? month : ''}
          options={options}
          onChange={({ target }) =>
            target.value === '' ? undefined : onChange(monthAt(`${target.value}-01`))
          }
        />
      </Field>
      {(['from', 'to'] as const).map((name) => (
        <Field key={name} label={t(`common:range.${name}`)}>
          <Input
            type="date"
            value={days[name]}
            aria-invalid={problem !== null}
            onChange={({ target }) => set(name, target.value)}
          />
        </Field>
      ))}
    </div>
  );
}

function Month({ days }: { days: Days }) {
  const { t } = useTranslation('month-end');
  const statements = usePages('GET /console/api/books/statements', { query: { ...days } });
  const margin = useQuery(readQuery('GET /console/api/books/margin', { query: { ...days } }));
  const marginRows = margin.data?.items;
  const isWhole = statements.onMore === undefined;
  const note = isWhole ? undefined : t('shownOnly');
  return (
    <>
      <FigureRow>
        <Figure isMain label={t('column.supply_value')} note={note}>
          <Sum rows={statements.rows} of={({ amounts }) => amounts.supply_value} />
        </Figure>
        <Figure label={t('column.vat')} note={note}>
          <Sum rows={statements.rows} of={({ amounts }) => amounts.vat} />
        </Figure>
        <Figure label={t('column.billed')}>
          <Sum rows={marginRows} of={(row) => row.billed_micro} />
        </Figure>
        <Figure label={t('column.margin')} note={t('marginNote')}>
          <Sum rows={marginRows} of={(row) => row.margin_micro} />
        </Figure>
      </FigureRow>
      <Section title={t('statements')} note={t('statementsNote')}>
        <PagedTable
          id="month-statements"
          label={t('statements')}
          columns={useStatementColumns()}
          pages={statements}
          rowId={(row) => `${row.account_id} ${row.month}`}
          empty={<EmptyState title={t('noStatements')} />}
        />
      </Section>
      <Section title={t('margins')} note={t('marginsNote')}>
        <DataTable
          id="month-margin"
          label={t('margins')}
          columns={useMarginColumns()}
          rows={marginRows}
          rowId={(row) => `${row.month} ${row.model} ${row.provider}`}
          empty={<EmptyState title={t('noStatements')} />}
          error={margin.isError && margin.data === undefined ? <ReadError of={margin} /> : null}
        />
      </Section>
      <Entries days={days} />
    </>
  );
}

/** Every entry of these days as a file: of all accounts, or of one. */
function Entries({ days }: { days: Days }) {
  const { t } = useTranslation('month-end');
  const language = useLanguage();
  const [account, setAccount] = useState('');
  const isAccount = account === '' || /^\d{1,15}$/.test(account);
  const query = new URLSearchParams({ ...days, language, ...(account === '' ? {} : { account }) });
  return (
    <Section title={t('entries')} note={t('entriesNote')}>
      <div className="flex flex-wrap items-end gap-3">
        <Field
          label={t('account')}
          error={isAccount ? null : t('accountError')}
          optionalText={t('common:optional')}
        >
          <Input
            value={account}
            inputMode="numeric"
            onChange={({ target }) => setAccount(target.value.trim())}
            isNumeric
          />
        </Field>
        {isAccount ? (
          <DownloadButton url={`/console/api/books/csv?${query}`}>{t('download')}</DownloadButton>
        ) : null}
      </div>
    </Section>
  );
}

/** The sum of the amounts that are known. */
function Sum<Row>({
  rows,
  of,
}: {
  rows: readonly Row[] | undefined;
  of: (row: Row) => string | null;
}): ReactNode {
  const sum = useMemo(() => rows?.reduce((total, row) => total + parseMicro(of(row) ?? '0'), 0n), [rows, of]);
  return sum === undefined ? <None /> : <Money micro={sum} maxDecimals={0} />;
}

/** The days of the month that begins on one. */
function monthAt(first: string): Days {
  const next = (startOfDay(first) ?? 0) + 32 * 86_400_000;
  return { from: first, to: seoulDay(startOfDay(seoulMonthStart(next)) ?? 0, -1) };
}
