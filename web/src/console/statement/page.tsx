import { useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { StatementPage } from '../../statement/statement.tsx';

/** The statement of a month of an account, as its owner sees it. */
export function Page() {
  const { t } = useTranslation('account');
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  return (
    <StatementPage
      account={id}
      back={
        <Link to={`/accounts/${id}`} className="hover:underline">
          {t('title')} #{id}
        </Link>
      }
    />
  );
}
