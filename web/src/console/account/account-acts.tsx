import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { ActionButton } from '../../app/permission.tsx';
import { buttonClass } from '../../ui/button.tsx';
import { AdjustCredit } from './adjust-credit.tsx';
import { CloseAccount, EditAccount, ErasePerson } from './change-account.tsx';
import type { Account } from './data.ts';
import { GrantCredit } from './grant-credit.tsx';
import { SuspendAccount } from './suspend-account.tsx';

const forms = {
  grant: GrantCredit,
  adjust: AdjustCredit,
  suspension: SuspendAccount,
  edit: EditAccount,
  closure: CloseAccount,
  erase: ErasePerson,
} as const;

/** The acts on an account, each with the role that it needs. */
export function AccountActs({ account }: { account: Account }) {
  const { t } = useTranslation('account');
  const [open, setOpen] = useState<keyof typeof forms | null>(null);
  const Form = open === null ? null : forms[open];
  return (
    <div className="flex flex-wrap gap-2">
      <Link
        to="/top-ups"
        search={{ account: String(account.id), state: 'all' }}
        className={buttonClass('quiet')}
      >
        {t('topUps')}
      </Link>
      <ActionButton needs="support" onClick={() => setOpen('edit')}>
        {t('edit')}
      </ActionButton>
      {account.closed_at === null ? null : (
        <ActionButton needs="admin" onClick={() => setOpen('erase')}>
          {t('erase')}
        </ActionButton>
      )}
      <ActionButton needs="admin" onClick={() => setOpen('closure')}>
        {t(account.closed_at === null ? 'close' : 'reopen')}
      </ActionButton>
      <ActionButton needs="support" onClick={() => setOpen('suspension')}>
        {t(account.suspended_at === null ? 'suspend' : 'resume')}
      </ActionButton>
      <ActionButton needs="admin" onClick={() => setOpen('adjust')}>
        {t('adjust')}
      </ActionButton>
      <ActionButton needs="support" variant="primary" onClick={() => setOpen('grant')}>
        {t('grant')}
      </ActionButton>
      {Form === null ? null : <Form account={account} onClose={() => setOpen(null)} />}
    </div>
  );
}
