import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { ReadError } from '../../app/read-error.tsx';
import { decimalWon, parseWon } from '../../format/money.ts';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { Button } from '../../ui/button.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Banner, SkeletonLines } from '../../ui/states.tsx';
import { showToast } from '../../ui/toast.tsx';
import { alertsQuery } from './alerts.ts';

type Alerts = ResponseOf<'GET /dashboard/api/alerts'>;

const maxDays = 365;

/** From when the pages warn of the balance: an amount, and days at the present pace. */
export function AlertForm() {
  const alerts = useQuery(alertsQuery);
  if (alerts.data !== undefined) return <Fields key={alerts.data.updated_at} alerts={alerts.data} />;
  return alerts.isError ? <ReadError of={alerts} /> : <SkeletonLines lines={3} />;
}

function Fields({ alerts }: { alerts: Alerts }) {
  const { t } = useTranslation('credits');
  const format = useFormat();
  const language = useLanguage();
  const queries = useQueryClient();
  const [amount, setAmount] = useState(
    alerts.low_balance_micro === null ? '' : decimalWon(alerts.low_balance_micro),
  );
  const [days, setDays] = useState(alerts.min_days_left === null ? '' : String(alerts.min_days_left));
  const [isTried, setIsTried] = useState(false);
  const micro = amount.trim() === '' ? null : parseWon(amount);
  const isAmountValid = amount.trim() === '' || (micro !== null && micro > 0n);
  const wanted = days.trim() === '' ? null : Number(days);
  const areDaysValid = wanted === null || (Number.isInteger(wanted) && wanted >= 1 && wanted <= maxDays);
  const saving = useMutation({
    mutationFn: () =>
      change('PUT /dashboard/api/alerts', {
        body: { low_balance_micro: micro === null ? null : String(micro), min_days_left: wanted },
      }),
    onSuccess: (saved) => {
      queries.setQueryData(alertsQuery.queryKey, saved);
      showToast({ tone: 'good', text: t('alertsSaved') });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setIsTried(true);
    if (isAmountValid && areDaysValid && !saving.isPending) saving.mutate();
  };
  return (
    <form onSubmit={submit} noValidate className="flex max-w-110 flex-col gap-3">
      <Field
        label={t('lowBalance')}
        optionalText={t('common:optional')}
        hint={micro === null ? t('alertOff') : t('lowBalanceHint', { amount: format.money(micro) })}
        error={isTried && !isAmountValid ? t('amountError') : null}
      >
        <Input
          value={amount}
          isNumeric
          suffix={t('won')}
          onChange={({ target }) => setAmount(target.value)}
        />
      </Field>
      <Field
        label={t('minDays')}
        optionalText={t('common:optional')}
        hint={wanted === null ? t('alertOff') : t('minDaysHint')}
        error={isTried && !areDaysValid ? t('minDaysError', { max: maxDays }) : null}
      >
        <Input
          value={days}
          isNumeric
          inputMode="numeric"
          suffix={t('days')}
          onChange={({ target }) => setDays(target.value)}
        />
      </Field>
      {saving.isError ? <Banner tone="bad">{wordsOfError(saving.error, language, t)}</Banner> : null}
      <div>
        <Button type="submit" isBusy={saving.isPending}>
          {t('common:save')}
        </Button>
      </div>
    </form>
  );
}
