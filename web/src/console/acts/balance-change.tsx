import { useTranslation } from 'react-i18next';
import { parseMicro } from '../../format/money.ts';
import { Money } from '../../ui/figures.tsx';
import { Icon } from '../../ui/icons.tsx';

/** What an act does to a balance: before, after. Without an amount yet: the balance alone. */
export function BalanceChange({ balance, amount }: { balance: string; amount: bigint | null }) {
  const { t } = useTranslation('acts');
  return (
    <dl className="flex flex-wrap items-center gap-x-2 rounded-md bg-subtle px-3 py-2">
      <dt className="w-full text-sm text-muted">{t('balanceChange')}</dt>
      <dd>
        <span className="sr-only">{t('before')} </span>
        <Money micro={balance} />
      </dd>
      {amount === null ? null : (
        <>
          <dd className="text-muted">
            <Icon name="arrowRight" size={14} />
          </dd>
          <dd className="font-semibold">
            <span className="sr-only">{t('after')} </span>
            <Money micro={parseMicro(balance) + amount} />
          </dd>
        </>
      )}
    </dl>
  );
}
