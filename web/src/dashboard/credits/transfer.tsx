import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { readQuery } from '../../api/query.ts';
import { seoulDay } from '../../format/time.ts';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import { type TopUpRow, useTopUpColumns } from '../../top-ups/columns.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Properties } from '../../ui/figures.tsx';

/** How to pay by bank transfer; the operator states it in the configuration. */
export const transferQuery = readQuery('GET /dashboard/api/topups/instructions', {});

/** Where to pay, and until when: in words, or the day for a request made at `requestedAt`. */
export function Transfer({ requestedAt }: { requestedAt?: string }) {
  const { t } = useTranslation('credits');
  const language = useLanguage();
  const { data } = useQuery(transferQuery);
  if (data === undefined || data.instructions === null) return null;
  const { bank, account, holder, note } = data.instructions[language];
  const days = data.deadline_days;
  const deadline =
    days === null
      ? null
      : requestedAt === undefined
        ? t('transfer.within', { days })
        : seoulDay(requestedAt, days);
  const shown = [
    { name: 'bank', value: bank },
    {
      name: 'account',
      value: (
        <span className="inline-flex items-center gap-1">
          {account} <CopyButton text={account} />
        </span>
      ),
    },
    { name: 'holder', value: holder },
    { name: 'deadline', value: deadline },
    { name: 'note', value: note },
  ].filter(({ value }) => value !== null);
  return (
    <section aria-label={t('transfer.title')} className="max-w-110 rounded-md bg-subtle px-3 py-2.5">
      <Properties rows={shown.map(({ name, value }) => ({ name: t(`transfer.${name}`), value }))} />
    </section>
  );
}

/** A request for a top-up: what was asked, how it was decided, and where to pay. */
export function TopUpDetails({ row, onClose }: { row: TopUpRow; onClose: () => void }) {
  const { t } = useTranslation('credits');
  const format = useFormat();
  const { state, requested, depositor, decided } = useTopUpColumns<TopUpRow>();
  const { bank_reference: reference, reason } = row;
  const shown = [
    ...[state, requested, depositor, ...(row.decided_at === null ? [] : [decided])].map((column) => ({
      name: column.header,
      value: column.cell(row),
    })),
    ...(reference === null ? [] : [{ name: t('top-ups:column.bankReference'), value: reference }]),
    ...(reason === null ? [] : [{ name: t('column.reason'), value: reason }]),
  ];
  return (
    <Dialog
      isOpen
      size="sm"
      onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}
      title={t('detailsTitle', { amount: format.money(row.amount_micro) })}
    >
      <div className="flex flex-col gap-3 pb-2">
        <Properties rows={shown} />
        {row.state === 'pending' || row.state === 'confirmed' ? (
          <Transfer requestedAt={row.requested_at} />
        ) : null}
      </div>
    </Dialog>
  );
}
