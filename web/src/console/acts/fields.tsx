import { useTranslation } from 'react-i18next';
import { parseWon } from '../../format/money.ts';
import { useFormat } from '../../i18n/use-format.ts';
import { Field, Input, Textarea } from '../../ui/field.tsx';

interface TextFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** The form was sent: an empty field is an error. */
  readonly isTried: boolean;
}

/** Why an operator acts: one line for the audit log. */
export function ReasonField({ value, onChange, isTried, hint }: TextFieldProps & { hint?: string }) {
  const { t } = useTranslation('acts');
  const isMissing = isTried && value.trim() === '';
  return (
    <Field label={t('reason')} hint={hint ?? t('reasonHint')} error={isMissing ? t('reasonError') : null}>
      <Textarea
        value={value}
        maxLength={500}
        rows={2}
        onChange={({ target }) => onChange(target.value.replaceAll(/\s+/g, ' '))}
      />
    </Field>
  );
}

/** An amount of won above zero. */
export function AmountField({
  value,
  onChange,
  isTried,
  hint,
  optionalText,
}: TextFieldProps & { hint?: string; optionalText?: string }) {
  const { t } = useTranslation('acts');
  const format = useFormat();
  const micro = amountOf(value);
  const isMissing = isTried && micro === null && !(optionalText !== undefined && value.trim() === '');
  return (
    <Field
      label={t('amount')}
      hint={micro === null ? hint : format.money(micro)}
      error={isMissing ? t('amountError') : null}
      {...(optionalText === undefined ? {} : { optionalText })}
    >
      <Input
        value={value}
        isNumeric
        inputMode="decimal"
        suffix={t('won')}
        onChange={({ target }) => onChange(target.value)}
      />
    </Field>
  );
}

/** The micro-won of a typed amount; null unless it is above zero. */
export function amountOf(text: string): bigint | null {
  const micro = parseWon(text);
  return micro === null || micro <= 0n ? null : micro;
}
