import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { Link } from '../../app/link.tsx';
import type { ItemOf } from '../../app/use-pages.ts';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Money, None } from '../../ui/figures.tsx';
import type { Column } from '../../ui/table/column.ts';
import { AccountLink } from '../account-link.tsx';

type Statement = ItemOf<'GET /console/api/books/statements'>;
type Source = ResponseOf<'GET /console/api/books/margin'>['items'][number];

/** Those that a tax invoice needs, in their order; the others may be shown. */
const amounts = ['topups', 'usage_paid', 'usage_bonus', 'refunds', 'supply_value', 'vat'] as const;
const hidden = ['bonuses', 'expired_paid', 'expired_bonus', 'adjustments', 'change', 'taxable'] as const;

/** The columns of statements: those of `naru usage export`. */
export function useStatementColumns(): readonly Column<Statement>[] {
  const { t } = useTranslation('month-end');
  return useMemo(
    (): readonly Column<Statement>[] => [
      {
        id: 'month',
        header: t('month'),
        cell: (row) => (
          <Link
            to={`/accounts/${row.account_id}/statement`}
            search={{ month: row.month }}
            className="underline"
            aria-label={t('toStatement', { month: row.month, account: row.account_name })}
          >
            {row.month}
          </Link>
        ),
        value: (row) => row.month,
      },
      {
        id: 'account',
        header: t('accounts:column.account'),
        cell: (row) => <AccountLink id={row.account_id} name={row.account_name} tab="ledger" />,
        value: (row) => row.account_name,
        isTitle: true,
      },
      {
        id: 'account_id',
        header: t('account'),
        kind: 'number',
        cell: (row) => row.account_id,
        value: (row) => row.account_id,
        isHiddenByDefault: true,
      },
      {
        id: 'business_number',
        header: t('businessNumber'),
        cell: (row) => row.business_number ?? <None />,
        value: (row) => row.business_number,
      },
      ...[...amounts, ...hidden].map(
        (name): Column<Statement> => ({
          id: name,
          header: t(`column.${name}`),
          kind: 'money',
          cell: (row) => <Money micro={row.amounts[name]} maxDecimals={0} />,
          value: (row) => parseMicro(row.amounts[name]),
          isHiddenByDefault: hidden.some((one) => one === name),
          isMainFigure: name === 'supply_value',
        }),
      ),
    ],
    [t],
  );
}

/** The columns of margins: those of `naru usage margin`. */
export function useMarginColumns(): readonly Column<Source>[] {
  const { t } = useTranslation('month-end');
  const format = useFormat();
  return useMemo(() => {
    const money = (id: string, of: (row: Source) => string | null): Column<Source> => ({
      id,
      header: t(`column.${id}`),
      kind: 'money',
      cell: (row) => {
        const micro = of(row);
        return micro === null ? <None /> : <Money micro={micro} maxDecimals={0} />;
      },
      value: (row) => {
        const micro = of(row);
        return micro === null ? null : parseMicro(micro);
      },
      isMainFigure: id === 'margin',
    });
    const count = (id: string, of: (row: Source) => number): Column<Source> => ({
      id,
      header: t(`column.${id}`),
      kind: 'number',
      cell: (row) => format.count(of(row)),
      value: of,
    });
    return [
      { id: 'month', header: t('month'), cell: (row) => row.month, value: (row) => row.month },
      {
        id: 'model',
        header: t('column.model'),
        cell: (row) => row.model,
        value: (row) => row.model,
        isTitle: true,
      },
      {
        id: 'provider',
        header: t('column.provider'),
        cell: (row) => row.provider,
        value: (row) => row.provider,
      },
      count('requests', (row) => row.requests),
      money('billed', (row) => row.billed_micro),
      money('upstream', (row) => row.upstream_micro),
      money('margin', (row) => row.margin_micro),
      count('broken_requests', (row) => row.broken.requests),
      money('broken_upstream', (row) => row.broken.upstream_micro),
    ];
  }, [t, format]);
}
