import { useTranslation } from 'react-i18next';
import { parseMicro } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Badge } from '../../ui/badge.tsx';
import { None } from '../../ui/figures.tsx';
import type { Change } from './columns.tsx';

const classes = ['prompt', 'completion', 'cache_read', 'cache_write', 'cache_write_1h'] as const;

interface RateChange {
  readonly id: string;
  readonly tier: string | null;
  /** A class of tokens, or a request. */
  readonly name: (typeof classes)[number] | 'request';
  /** Micro-won of a million tokens, or pico-won of a request; null: there is no such rate. */
  readonly before: string | null;
  readonly after: string | null;
}

/** Every rate that a publication changes, class by class, with its old and its new price. */
export function RateChanges({ changes }: { changes: readonly Change[] }) {
  const { t } = useTranslation('prices');
  const cell = 'border-b px-2 py-1 text-right whitespace-nowrap last:pr-0';
  const first = 'border-b py-1 pr-2 text-left';
  return (
    <section
      aria-label={t('rateChanges')}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the focus.
      tabIndex={0}
      className="max-h-80 overflow-auto"
    >
      <table className="w-full text-sm">
        <thead className="sticky top-0 bg-raised text-xs text-muted">
          <tr>
            <th scope="col" className={first}>
              {t('column.class')}
            </th>
            {(['before', 'after', 'column.difference'] as const).map((name) => (
              <th key={name} scope="col" className={cell}>
                {t(name)}
              </th>
            ))}
          </tr>
        </thead>
        {changes.map((change) => (
          <tbody key={`${change.model} ${change.candidate}`}>
            <tr>
              <th scope="rowgroup" colSpan={4} className="pt-3 text-left font-medium break-all">
                {t(`change.${change.change}`)}: {change.model}{' '}
                <span className="font-normal text-muted">{change.candidate}</span>
                {change.is_large ? <Badge tone="warn">{t('beyondTen')}</Badge> : null}
              </th>
            </tr>
            {rateChanges(change).map((rate) => (
              <Row key={rate.id} rate={rate} cell={cell} first={first} />
            ))}
          </tbody>
        ))}
      </table>
    </section>
  );
}

function Row({ rate, cell, first }: { rate: RateChange; cell: string; first: string }) {
  const { tier, name, before, after } = rate;
  const { t } = useTranslation('prices');
  const format = useFormat();
  const price = (stated: string | null) =>
    stated === null ? (
      <None />
    ) : name === 'request' ? (
      format.money(parseMicro(stated) / 1_000_000n)
    ) : (
      format.pricePerMillion(stated)
    );
  const from = Number(before ?? 0);
  const change = from === 0 || after === null ? null : Number(after) / from - 1;
  return (
    <tr>
      <td className={first}>
        {t(name === 'request' ? 'perRequest' : `column.${name}`)}
        {tier === null ? null : <span className="text-muted"> · {tier}</span>}
      </td>
      <td className={`${cell} text-muted`}>{price(before)}</td>
      <td className={cell}>{price(after)}</td>
      <td className={cell}>
        {change === null ? <None /> : `${change > 0 ? '+' : ''}${format.percent(change)}`}
      </td>
    </tr>
  );
}

/** The rates that differ; of a candidate that comes or goes, those that it has. */
function rateChanges({ before, after }: Change): readonly RateChange[] {
  const tiers = [before, after].flatMap((rates) => rates?.tiers.map(({ tier }) => tier) ?? []);
  const ofClasses = [null, ...new Set(tiers)].flatMap((tier) =>
    classes.map((name): RateChange => {
      const [old, now] = [before, after].map((rates) => {
        const row = tier === null ? rates : rates?.tiers.find((one) => one.tier === tier);
        return row?.[`${name}_micro`] ?? null;
      });
      return { id: `${tier} ${name}`, tier, name, before: old ?? null, after: now ?? null };
    }),
  );
  const request: RateChange = {
    id: 'request',
    tier: null,
    name: 'request',
    before: before?.request_pico ?? null,
    after: after?.request_pico ?? null,
  };
  return [...ofClasses, request].filter(
    (rate) => rate.before !== rate.after && (Number(rate.before) !== 0 || Number(rate.after) !== 0),
  );
}
