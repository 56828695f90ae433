import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { parseMicro, parseWon } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { None, Time } from '../../ui/figures.tsx';
import { Icon } from '../../ui/icons.tsx';
import type { Column } from '../../ui/table/column.ts';

type Prices = ResponseOf<'GET /console/api/prices'>;
export type Published = Prices['items'][number];
export type Change = Prices['file']['changes'][number];
export type Version = ResponseOf<'GET /console/api/prices/history'>['items'][number];
type Rates = Version['rates'];

const rateNames = ['prompt', 'completion', 'cache_read', 'cache_write', 'cache_write_1h'] as const;
type RateName = (typeof rateNames)[number];

/** Null: the price has no such rate. */
function microOf(rates: Rates, name: RateName): string | null {
  return rates[`${name}_micro`];
}

/** As the configuration states it: `USD 0.15 / 0.6 per 1M`. */
export function statedText(stated: Version['stated'] | null): string {
  if (stated === null) return '';
  return `${stated.currency} ${stated.prompt} / ${stated.completion} · ${stated.per}`;
}

/** The columns of one rate each. */
function useRateColumns<Row extends { readonly rates: Rates }>(): readonly Column<Row>[] {
  const { t } = useTranslation('prices');
  const format = useFormat();
  return useMemo((): readonly Column<Row>[] => {
    const tiersOf = ({ tiers }: Rates): string =>
      tiers
        .map(
          ({ tier, prompt_micro: prompt, completion_micro: completion }) =>
            `${tier} ${format.pricePerMillion(prompt)} / ${format.pricePerMillion(completion)}`,
        )
        .join(', ');
    return [
      ...rateNames.map(
        (name): Column<Row> => ({
          id: name,
          header: t(`column.${name}`),
          kind: 'money',
          cell: ({ rates }) => {
            const micro = microOf(rates, name);
            return micro === null ? <None /> : format.pricePerMillion(micro);
          },
          value: ({ rates }) => {
            const micro = microOf(rates, name);
            return micro === null ? null : parseMicro(micro);
          },
          isHiddenByDefault: name.startsWith('cache'),
          isMainFigure: name === 'completion',
        }),
      ),
      {
        id: 'tiers',
        header: t('column.tiers'),
        cell: ({ rates }) => (rates.tiers.length === 0 ? <None /> : tiersOf(rates)),
        value: ({ rates }) => tiersOf(rates),
        isHiddenByDefault: true,
      },
    ];
  }, [format, t]);
}

function useNameColumns<Row extends { readonly model: string; readonly candidate: string }>(
  onModel?: (model: string) => void,
): readonly Column<Row>[] {
  const { t } = useTranslation('prices');
  return useMemo(
    (): readonly Column<Row>[] => [
      {
        id: 'model',
        header: t('column.model'),
        cell: ({ model }) =>
          onModel === undefined ? (
            model
          ) : (
            <button
              type="button"
              className="block max-w-full text-left hover:underline"
              onClick={() => onModel(model)}
            >
              {model}
            </button>
          ),
        value: ({ model }) => model,
        isTitle: true,
      },
      {
        id: 'candidate',
        header: t('column.candidate'),
        cell: ({ candidate }) => <span className="text-muted">{candidate}</span>,
        value: ({ candidate }) => candidate,
      },
    ],
    [onModel, t],
  );
}

/** Published prices with what they earn; a click on a model shows its history. */
export function usePublishedColumns(onModel: (model: string) => void): readonly Column<Published>[] {
  const { t } = useTranslation('prices');
  const format = useFormat();
  const names = useNameColumns<Published>(onModel);
  const rates = useRateColumns<Published>();
  return useMemo((): readonly Column<Published>[] => {
    const margin = (name: 'margin_published' | 'margin_now'): Column<Published> => ({
      id: name,
      header: t(`column.${name}`),
      kind: 'number',
      cell: (row) => {
        const percent = row[name];
        if (percent === null) return <None />;
        const text = format.percent(percent / 100);
        return percent < 0 ? (
          <span className="inline-flex items-center gap-1 text-bad">
            <Icon name="alert" size={14} />
            {text}
          </span>
        ) : (
          text
        );
      },
      value: (row) => row[name],
    });
    return [
      ...names,
      ...rates,
      margin('margin_now'),
      { ...margin('margin_published'), isHiddenByDefault: true },
      {
        id: 'stated',
        header: t('column.stated'),
        cell: ({ stated }) => <span className="text-muted">{statedText(stated)}</span>,
        value: ({ stated }) => statedText(stated),
        isWideOnly: true,
      },
      {
        id: 'published',
        header: t('column.published'),
        kind: 'time',
        cell: (row) => <Time at={Date.parse(row.published_at)} />,
        value: (row) => Date.parse(row.published_at),
      },
    ];
  }, [names, rates, format, t]);
}

/** What publishing the file would change: each price before and after. */
export function useChangeColumns(): readonly Column<Change>[] {
  const { t } = useTranslation('prices');
  const format = useFormat();
  const names = useNameColumns<Change>();
  return useMemo((): readonly Column<Change>[] => {
    const price = (rates: Rates | null, name: RateName): string | null =>
      rates === null ? null : microOf(rates, name);
    return [
      ...names,
      {
        id: 'change',
        header: t('column.change'),
        cell: ({ change }) => t(`change.${change}`),
        value: ({ change }) => change,
      },
      ...(['prompt', 'completion'] as const).map(
        (name): Column<Change> => ({
          id: name,
          header: t(`column.${name}`),
          kind: 'money',
          cell: ({ before, after }) => (
            <BeforeAfter before={price(before, name)} after={price(after, name)} />
          ),
          value: ({ after }) => (after === null ? null : parseMicro(after[`${name}_micro`])),
          isMainFigure: name === 'completion',
        }),
      ),
      {
        id: 'difference',
        header: t('column.difference'),
        kind: 'number',
        cell: (row) => {
          const change = differenceOf(row);
          return change === null ? <None /> : `${change > 0 ? '+' : ''}${format.percent(change)}`;
        },
        value: differenceOf,
      },
      {
        id: 'stated',
        header: t('column.stated'),
        cell: ({ stated_after: stated }) =>
          stated === null ? <None /> : <span className="text-muted">{statedText(stated)}</span>,
        value: ({ stated_after: stated }) => statedText(stated),
        isWideOnly: true,
      },
    ];
  }, [names, format, t]);
}

/** How much a completion token becomes dearer, as a fraction; null without both prices. */
function differenceOf({ before, after }: Change): number | null {
  if (before === null || after === null) return null;
  const [from, to] = [before, after].map(
    (rates) => Number(rates.prompt_micro) + Number(rates.completion_micro),
  );
  return from === undefined || to === undefined || from === 0 ? null : to / from - 1;
}

function BeforeAfter({ before, after }: { before: string | null; after: string | null }) {
  const { t } = useTranslation('prices');
  const format = useFormat();
  return (
    <span className="inline-flex items-center gap-1">
      <span className="sr-only">{t('before')} </span>
      {before === null ? <None /> : <span className="text-muted">{format.pricePerMillion(before)}</span>}
      <Icon name="arrowRight" size={13} />
      <span className="sr-only">{t('after')} </span>
      {after === null ? <None /> : format.pricePerMillion(after)}
    </span>
  );
}

/** Every published price. */
export function useHistoryColumns(): readonly Column<Version>[] {
  const { t } = useTranslation('prices');
  const format = useFormat();
  const names = useNameColumns<Version>();
  const rates = useRateColumns<Version>();
  return useMemo(
    (): readonly Column<Version>[] => [
      {
        id: 'published',
        header: t('column.published'),
        kind: 'time',
        cell: (row) => <Time at={Date.parse(row.published_at)} />,
        value: (row) => Date.parse(row.published_at),
      },
      ...names,
      ...rates,
      {
        id: 'exchangeRate',
        header: t('column.usdKrw'),
        kind: 'number',
        cell: ({ stated }) =>
          stated.usd_krw == null ? <None /> : format.money(parseWon(stated.usd_krw) ?? 0n),
        value: ({ stated }) => (stated.usd_krw == null ? null : Number(stated.usd_krw)),
      },
      {
        id: 'margin',
        header: t('column.marginPercent'),
        kind: 'number',
        cell: ({ stated }) => (stated.margin_percent == null ? <None /> : `${stated.margin_percent}%`),
        value: ({ stated }) => (stated.margin_percent == null ? null : Number(stated.margin_percent)),
      },
      {
        id: 'version',
        header: t('column.version'),
        kind: 'number',
        cell: ({ version }) => version,
        value: ({ version }) => version,
        isHiddenByDefault: true,
      },
    ],
    [names, rates, format, t],
  );
}
