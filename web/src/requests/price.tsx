import { useTranslation } from 'react-i18next';
import { formatPico } from '../format/pico.ts';
import { useFormat, useLanguage } from '../i18n/use-format.ts';
import { Money } from '../ui/figures.tsx';
import type { Detail } from './detail.ts';

/** What each won was for: units times the price at that time, rounded once. */
export function Price({ detail }: { detail: Detail }) {
  const { t } = useTranslation('request');
  const format = useFormat();
  const language = useLanguage();
  const { price, listing } = detail;
  if (price === null) return <p className="text-sm text-muted">{t('noPrice')}</p>;
  return (
    <div className="flex flex-col gap-2 text-sm">
      <table className="w-full tabular-nums">
        <thead className="text-xs text-muted">
          <tr className="border-b">
            <th className="py-1 text-left font-normal">{t('item')}</th>
            <th className="py-1 pl-3 text-right font-normal whitespace-nowrap">{t('units')}</th>
            <th className="py-1 pl-3 text-right font-normal">{t('rate')}</th>
            <th className="py-1 pl-3 text-right font-normal">{t('amount')}</th>
          </tr>
        </thead>
        <tbody>
          {price.lines.map((line) => (
            <tr key={line.item} className="border-b">
              <td className="py-1.5">{t(`line.${line.item}`)}</td>
              <td className="py-1.5 pl-3 text-right">{format.count(line.units)}</td>
              <td className="py-1.5 pl-3 text-right whitespace-nowrap">
                {line.item === 'request'
                  ? t('perRequest', { price: formatPico(line.rate_pico, language) })
                  : t('perMillion', { price: format.pricePerMillion(line.rate_pico) })}
              </td>
              <td className="py-1.5 pl-3 text-right whitespace-nowrap">
                {formatPico(line.amount_pico, language)}
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td className="py-1.5" colSpan={3}>
              {t(price.is_free ? 'sumFree' : 'sum')}
            </td>
            <td className="py-1.5 pl-3 text-right font-semibold">
              <Money micro={listing.cost_micro} />
            </td>
          </tr>
        </tfoot>
      </table>
      <p className="text-xs text-muted">
        {t('version', { version: price.version, at: format.time(price.published_at) })}
        {price.tier === null ? null : ` · ${t('tier', { tier: price.tier })}`}
        {price.unpriced_tier === null ? null : ` · ${t('unpricedTier', { tier: price.unpriced_tier })}`}
        {detail.refunded_micro === '0'
          ? null
          : ` · ${t('refunded', { amount: format.money(detail.refunded_micro) })}`}
      </p>
    </div>
  );
}
