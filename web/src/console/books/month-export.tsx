import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DownloadButton } from '../../app/download-button.tsx';
import { useMonths } from '../../app/use-months.ts';
import { seoulDay } from '../../format/time.ts';
import { Field, Input, Select } from '../../ui/field.tsx';

/** Books are kept for five years. */
const offeredMs = 5 * 366 * 86_400_000;

/** A file of a month for the accountant: all accounts, or one of them. */
export function MonthExport() {
  const { t } = useTranslation('books');
  const [month, setMonth] = useState(() => seoulDay(Date.now()).slice(0, 7));
  const [account, setAccount] = useState('');
  const [since] = useState(() => Date.now() - offeredMs);
  const months = useMonths(since, month);
  const isAccount = account === '' || /^\d{1,15}$/.test(account);
  const query = new URLSearchParams({ month, ...(account === '' ? {} : { account }) });
  return (
    <div className="flex flex-wrap items-end gap-3">
      <Field label={t('month')}>
        <Select value={month} onChange={({ target }) => setMonth(target.value)} options={months} />
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
      {isAccount ? (
        <DownloadButton url={`/console/api/books/csv?${query}`}>{t('download')}</DownloadButton>
      ) : null}
      <DownloadButton url={`/console/api/books/statements/csv?month=${month}`}>
        {t('statements')}
      </DownloadButton>
      <DownloadButton url={`/console/api/books/margin/csv?month=${month}`}>{t('margin')}</DownloadButton>
    </div>
  );
}
