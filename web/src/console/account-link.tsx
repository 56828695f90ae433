import { Link } from '../app/link.tsx';

export interface AccountLinkProps {
  readonly id: number;
  readonly name: string;
  /** Which of its views; the first unless stated. */
  readonly tab?: 'ledger';
}

/** An account by name and number, which leads to its page. */
export function AccountLink({ id, name, tab }: AccountLinkProps) {
  return (
    <Link to={`/accounts/${id}`} search={tab === undefined ? {} : { tab }} className="hover:underline">
      {name} <span className="text-muted">#{id}</span>
    </Link>
  );
}
