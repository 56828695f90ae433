import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { PagedTable } from '../../app/paged-table.tsx';
import { type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { usePages } from '../../app/use-pages.ts';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { usePaymentColumns } from '../../top-ups/payment-columns.tsx';
import { Button } from '../../ui/button.tsx';
import { Banner, EmptyState } from '../../ui/states.tsx';
import { showToast } from '../../ui/toast.tsx';

/** What the page of the provider adds to our address. */
const names = ['paymentKey', 'orderId', 'amount', 'paymentType', 'code', 'message'] as const;
const fromNames = <T,>(value: T) =>
  Object.fromEntries(names.map((name) => [name, value])) as Record<(typeof names)[number], T>;
const returned: SearchSchema<Record<(typeof names)[number], string>> = fromNames(text());
const nothing = fromNames('');

/** Payments by card: the amounts, the way to the provider's page and back, and what was paid. */
export function Payments({ amounts }: { amounts: readonly string[] }) {
  const { t } = useTranslation('credits');
  const format = useFormat();
  const language = useLanguage();
  const columns = usePaymentColumns();
  const pages = usePages('GET /dashboard/api/payments', { query: {} });
  const completing = useReturn();
  const ordering = useMutation({
    mutationFn: (amount_micro: string) => change('POST /dashboard/api/payments', { body: { amount_micro } }),
    onSuccess: ({ checkout_url }) => window.location.assign(checkout_url),
  });
  const error = completing.error ?? ordering.error;
  return (
    <>
      <fieldset className="flex flex-wrap gap-2" aria-label={t('pay')}>
        {amounts.map((amount) => (
          <Button
            key={amount}
            isBusy={(ordering.isPending && ordering.variables === amount) || completing.isPending}
            onClick={() => ordering.mutate(amount)}
          >
            {format.money(amount)}
          </Button>
        ))}
      </fieldset>
      {error === null ? null : <Banner tone="bad">{wordsOfError(error, language, t)}</Banner>}
      <PagedTable
        id="payments"
        label={t('payments')}
        columns={columns}
        pages={pages}
        rowId={({ order_id }) => order_id}
        empty={<EmptyState title={t('noPayments')} />}
      />
    </>
  );
}

/** Completes the payment with which the browser came back, once. */
function useReturn() {
  const { t } = useTranslation('credits');
  const format = useFormat();
  const queries = useQueryClient();
  const [{ paymentKey, orderId, amount, code }, setParams] = useSearchParams(returned);
  const begun = useRef('');
  const completing = useMutation({
    mutationFn: (payment: { order: string; payment_key: string; amount: string }) =>
      change('POST /dashboard/api/payments/{order}/complete', {
        params: { order: payment.order },
        body: { payment_key: payment.payment_key, amount: payment.amount },
      }),
    onSuccess: ({ amount_micro, state }) => {
      if (state === 'paid')
        showToast({ tone: 'good', text: t('paidNow', { amount: format.money(amount_micro) }) });
    },
    onSettled: () => queries.invalidateQueries(),
  });
  const { mutate } = completing;
  useEffect(() => {
    const isNew = orderId !== '' && begun.current !== orderId;
    if (isNew && paymentKey !== '') mutate({ order: orderId, payment_key: paymentKey, amount });
    else if (isNew || code !== '') showToast({ tone: 'bad', text: t('notPaid', { code }) });
    begun.current = orderId;
    if (orderId !== '' || code !== '') setParams(nothing);
  }, [paymentKey, orderId, amount, code, mutate, setParams, t]);
  return completing;
}
