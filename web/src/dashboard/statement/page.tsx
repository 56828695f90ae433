import { useTranslation } from 'react-i18next';
import { Link } from '../../app/link.tsx';
import { StatementPage } from '../../statement/statement.tsx';

/** The statement of a month, for the books of the account's owner. */
export function Page() {
  const { t } = useTranslation('navigation');
  return (
    <StatementPage
      back={
        <Link to="/credits" className="hover:underline">
          {t('credits')}
        </Link>
      }
    />
  );
}
