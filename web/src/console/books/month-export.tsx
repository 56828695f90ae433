import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { seoulDay } from '../../format/time.ts';
import { buttonClass } from '../../ui/button.tsx';
import { Field, Input } from '../../ui/field.tsx';
import { Icon } from '../../ui/icons.tsx';

/** A file of a month for the accountant: all accounts, or one of them. */
export function MonthExport() {
  const { t } = useTranslation('books');
  const [month, setMonth] = useState(() => seoulDay(Date.now()).slice(0, 7));
  const [account, setAccount] = useState('');
  const isMonth = /^20\d{2}-(?:0[1-9]|1[0-2])$/.test(month);
  const isAccount = account === '' || /^\d{1,15}$/.test(account);
  const query = new URLSearchParams({ month, ...(account === '' ? {} : { account }) });
  return (
    <div className="flex flex-wrap items-end gap-3">
      <Field label={t('month')} error={isMonth ? null : t('monthError')}>
        <Input type="month" value={month} onChange={({ target }) => setMonth(target.value)} />
      </Field>
      <Field
        label={t('account')}
        error={isAccount ? null : t('accountError')}
        optionalText={t('common:optional')}
      >
        <Input
          value={account}
          inputMode="numeric"
          onChange={({ target }) => setAccount(target.value.trim())}
          isNumeric
        />
      </Field>
      {isMonth && isAccount ? (
        <a className={buttonClass()} href={`/console/api/books/csv?${query}`} download>
          <Icon name="download" />
          {t('download')}
        </a>
      ) : null}
    </div>
  );
}
