import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { sessionQuery } from '../api/session.ts';
import { Button, type ButtonProps } from '../ui/button.tsx';
import { Tooltip } from '../ui/tooltip.tsx';
import { useApp } from './area.ts';

/** The roles of operators, least first: each may do what those before it may. */
const roles = ['viewer', 'support', 'admin'] as const;
/** The role that an act needs. */
export type Role = (typeof roles)[number];

/**
 * Why the person who has signed in may not do what needs this role; null when they may. The server
 * decides: this only spares a person the refusal.
 */
export function useRefusal(needs: Role): string | null {
  const { t } = useTranslation();
  const { area } = useApp();
  const { data: session } = useQuery(sessionQuery(area));
  const role = session?.kind === 'operator' ? session.role : null;
  if (role !== null && roles.indexOf(role) >= roles.indexOf(needs)) return null;
  return t('needsRole', { role: t(`role.${needs}`) });
}

export interface ActionButtonProps extends ButtonProps {
  /** The least role that may do this. */
  readonly needs: Role;
}

/** A button of an act. Without the role it is there, does nothing and says why. */
export function ActionButton({ needs, onClick, className = '', ...rest }: ActionButtonProps) {
  const refusal = useRefusal(needs);
  if (refusal === null) return <Button {...rest} className={className} onClick={onClick} />;
  return (
    <Tooltip text={refusal}>
      <Button
        {...rest}
        type="button"
        aria-disabled
        aria-description={refusal}
        className={`cursor-not-allowed opacity-50 ${className}`}
      />
    </Tooltip>
  );
}
