import { useTranslation } from 'react-i18next';
import { useFormat } from '../i18n/use-format.ts';

/** What the total usage is made of, in one line. */
export function UsageParts({
  usage,
}: {
  usage: { readonly used_micro: string; readonly expired_micro: string; readonly deducted_micro: string };
}) {
  const { t } = useTranslation();
  const { money } = useFormat();
  return t('usageParts', {
    used: money(usage.used_micro),
    expired: money(usage.expired_micro),
    deducted: money(usage.deducted_micro),
  });
}
