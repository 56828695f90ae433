import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, newChangeKey } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { decimalWon, parseWon } from '../../format/money.ts';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import type { TopUpRow } from '../../top-ups/columns.tsx';
import { Button } from '../../ui/button.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Banner } from '../../ui/states.tsx';
import { showToast } from '../../ui/toast.tsx';
import { TopUpDetails, transferQuery } from './transfer.tsx';

/** Asks for a top-up. What was typed stays until the request is made; a retry makes no second one. */
export function TopUpForm() {
  const { t } = useTranslation('credits');
  const format = useFormat();
  const language = useLanguage();
  const queries = useQueryClient();
  const [amount, setAmount] = useState('');
  const [depositor, setDepositor] = useState('');
  const [note, setNote] = useState('');
  const [isTried, setIsTried] = useState(false);
  const [made, setMade] = useState<TopUpRow | null>(null);
  const { data: transfer } = useQuery(transferQuery);
  const [changeKey, setChangeKey] = useState(newChangeKey);
  const micro = parseWon(amount);
  const isValid = micro !== null && micro > 0n;
  const asking = useMutation({
    mutationFn: () =>
      change(
        'POST /dashboard/api/topups',
        {
          body: {
            amount_micro: String(micro ?? 0n),
            ...(depositor.trim() === '' ? {} : { depositor: depositor.trim() }),
            ...(note.trim() === '' ? {} : { note: note.trim() }),
          },
        },
        changeKey,
      ),
    onSuccess: async (asked) => {
      showToast({ tone: 'good', text: t('asked', { amount: format.money(asked.amount_micro) }) });
      if (transfer !== undefined && transfer.instructions !== null) setMade(asked);
      setAmount('');
      setNote('');
      setIsTried(false);
      setChangeKey(newChangeKey());
      await queries.invalidateQueries({ queryKey: ['GET /dashboard/api/topups'] });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setIsTried(true);
    if (isValid && !asking.isPending) asking.mutate();
  };
  // Another request than the one that failed needs a key of its own.
  const edited =
    (set: (text: string) => void) =>
    ({ target }: { target: { value: string } }): void => {
      set(target.value);
      if (asking.isError) {
        asking.reset();
        setChangeKey(newChangeKey());
      }
    };
  return (
    <form onSubmit={submit} noValidate className="flex max-w-110 flex-col gap-3">
      {transfer === undefined || transfer.amounts_micro.length === 0 ? null : (
        <fieldset className="flex flex-wrap gap-2" aria-label={t('offered')}>
          {transfer.amounts_micro.map((offered) => (
            <Button
              key={offered}
              size="sm"
              aria-pressed={String(micro) === offered}
              onClick={() => edited(setAmount)({ target: { value: decimalWon(offered) } })}
            >
              {format.money(offered)}
            </Button>
          ))}
        </fieldset>
      )}
      <Field
        label={t('amount')}
        hint={isValid ? format.money(micro) : t('amountHint')}
        error={isTried && !isValid ? t('amountError') : null}
      >
        <Input value={amount} onChange={edited(setAmount)} isNumeric inputMode="decimal" suffix={t('won')} />
      </Field>
      <Field label={t('depositor')} hint={t('depositorHint')} optionalText={t('common:optional')}>
        <Input value={depositor} onChange={edited(setDepositor)} maxLength={100} autoComplete="name" />
      </Field>
      <Field label={t('note')} optionalText={t('common:optional')}>
        <Input value={note} onChange={edited(setNote)} maxLength={500} />
      </Field>
      {asking.isError ? <Banner tone="bad">{wordsOfError(asking.error, language, t)}</Banner> : null}
      <div>
        <Button variant="primary" type="submit" isBusy={asking.isPending}>
          {t('send')}
        </Button>
      </div>
      {made === null ? null : <TopUpDetails row={made} onClose={() => setMade(null)} />}
    </form>
  );
}
