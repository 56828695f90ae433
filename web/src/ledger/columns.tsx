import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../api/client.ts';
import { Link } from '../app/link.tsx';
import type { Address } from '../app/paths.ts';
import { parseMicro } from '../format/money.ts';
import { useFormat } from '../i18n/use-format.ts';
import { Money, None, Time } from '../ui/figures.tsx';
import type { Column } from '../ui/table/column.ts';

/** A movement of money of the account, also when an operator reads it. */
export type LedgerLine = ResponseOf<'GET /dashboard/api/ledger'>['items'][number];

/** Where the requests behind a line are. */
export interface LedgerLinks {
  /** The page of one request. */
  readonly requestPath: (generationId: string) => Address;
  /** The page of the requests, and what its URL needs beside the range. */
  readonly listPath: Address;
  readonly listSearch?: Readonly<Record<string, string>>;
}

/** The columns of a ledger: what happened, what it changed, and the balance after it. */
export function useLedgerColumns(links: LedgerLinks): readonly Column<LedgerLine>[] {
  const { t } = useTranslation('transactions');
  return useMemo(
    (): readonly Column<LedgerLine>[] => [
      {
        id: 'time',
        header: t('column.time'),
        kind: 'time',
        cell: (line) =>
          line.created_at === null ? t('wholeDay', { day: line.day }) : <Time at={line.created_at} />,
        value: (line) => (line.created_at === null ? null : Date.parse(line.created_at)),
        isTitle: true,
        isSortable: false,
      },
      {
        id: 'day',
        header: t('column.day'),
        cell: (line) => line.day,
        value: (line) => line.day,
        isSortable: false,
        isHiddenByDefault: true,
      },
      {
        id: 'kind',
        header: t('kindLabel'),
        cell: (line) => t(`kind.${line.kind}`),
        value: (line) => line.kind,
        isSortable: false,
      },
      {
        id: 'about',
        header: t('column.about'),
        cell: (line) => <Requests line={line} links={links} />,
        value: (line) => line.requests,
        isSortable: false,
      },
      {
        id: 'generationId',
        header: t('column.generationId'),
        cell: (line) => line.generation_id ?? <None />,
        value: (line) => line.generation_id,
        isSortable: false,
        isHiddenByDefault: true,
      },
      {
        id: 'amount',
        header: t('column.amount'),
        kind: 'money',
        cell: (line) => <Money micro={line.amount_micro} signed />,
        value: (line) => parseMicro(line.amount_micro),
        isMainFigure: true,
        isSortable: false,
      },
      {
        id: 'balance',
        header: t('column.balance'),
        kind: 'money',
        cell: (line) => <Money micro={line.balance_micro} />,
        value: (line) => parseMicro(line.balance_micro),
        isSortable: false,
      },
    ],
    [links, t],
  );
}

/** The request of a line, or those of its day. */
function Requests({ line, links }: { line: LedgerLine; links: LedgerLinks }) {
  const { t } = useTranslation('transactions');
  const format = useFormat();
  if (line.generation_id !== null)
    return (
      <Link to={links.requestPath(line.generation_id)} className="hover:underline">
        {t('ofRequest')}
      </Link>
    );
  if (line.requests === null) return <None />;
  return (
    <Link
      to={links.listPath}
      search={{ ...links.listSearch, range: 'custom', from: line.day, to: line.day }}
      className="hover:underline"
    >
      {t('requests', { count: line.requests, shown: format.count(line.requests) })}
    </Link>
  );
}
