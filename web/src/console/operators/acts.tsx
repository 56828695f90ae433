import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../../api/client.ts';
import { startOfDay } from '../../format/time.ts';
import { Field, Input } from '../../ui/field.tsx';
import { Segmented } from '../../ui/tabs.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { ReasonField } from '../acts/fields.tsx';
import { MadeLink, MadeSecret, type SentLink } from '../acts/made-secret.tsx';

type Operator = ResponseOf<'GET /console/api/operators'>['items'][number];
type Role = Operator['role'];
type MadeToken = ResponseOf<'POST /console/api/operator-tokens'>;
interface OperatorActProps {
  readonly row: Operator;
  readonly onClose: () => void;
}

const roles = ['viewer', 'support', 'admin'] as const;
const dayMs = 86_400_000;
/** The name of an operator or a machine, as the server accepts it. */
const isName = (text: string): boolean => /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,59}$/u.test(text);

/** Adds an operator, and shows the link with which the person signs in. */
export function AddOperator({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('operators');
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [isTried, setIsTried] = useState(false);
  const [made, setMade] = useState<SentLink | null>(null);
  if (made !== null) return <SignInLink made={made} onClose={onClose} />;
  return (
    <ActDialog
      title={t('addTitle')}
      confirmText={t('add')}
      values={[name.trim(), role]}
      isValid={isName(name.trim())}
      onInvalid={() => setIsTried(true)}
      act={async (changeKey) =>
        setMade(await change('POST /console/api/operators', { body: { name: name.trim(), role } }, changeKey))
      }
      done={null}
      onDone={() => undefined}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} isTried={isTried} />
      <RoleField value={role} onChange={setRole} />
    </ActDialog>
  );
}

/** Makes another link for an operator who lost the way in. */
export function NewLink({ row, onClose }: OperatorActProps) {
  const { t } = useTranslation('operators');
  const [made, setMade] = useState<SentLink | null>(null);
  if (made !== null) return <SignInLink made={made} onClose={onClose} />;
  return (
    <ActDialog
      title={t('linkTitle', { name: row.name })}
      confirmText={t('linkMake')}
      values={[row.id]}
      isValid
      act={async (changeKey) =>
        setMade(await change('POST /console/api/operators/{id}/link', { params: { id: row.id } }, changeKey))
      }
      done={null}
      onDone={() => undefined}
      onClose={onClose}
    >
      <p className="text-sm">{t('linkText')}</p>
    </ActDialog>
  );
}

/** Changes a role, effective at once. */
export function ChangeRole({ row, onClose }: OperatorActProps) {
  const { t } = useTranslation('operators');
  const [role, setRole] = useState(row.role);
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const body = { role, reason: reason.trim() };
  return (
    <ActDialog
      title={t('roleTitle', { name: row.name })}
      confirmText={t('role')}
      values={[role, body.reason]}
      isValid={body.reason !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change('PATCH /console/api/operators/{id}', { params: { id: row.id }, body }, changeKey)
      }
      done={t('roleDone', { name: row.name, role: t(`common:role.${role}`) })}
      onClose={onClose}
    >
      <RoleField value={role} onChange={setRole} />
      <ReasonField value={reason} onChange={setReason} isTried={isTried} />
    </ActDialog>
  );
}

/** Removes an operator: the sessions end at once. */
export function RemoveOperator({ row, onClose }: OperatorActProps) {
  const { t } = useTranslation('operators');
  return (
    <Removal
      name={row.name}
      act="remove"
      remove={(reason, changeKey) =>
        change('DELETE /console/api/operators/{id}', { params: { id: row.id }, body: { reason } }, changeKey)
      }
      onClose={onClose}
      text={t('removeText')}
    />
  );
}

/** Revokes a token, effective at once. */
export function RevokeToken({ row: { name }, onClose }: { row: { name: string }; onClose: () => void }) {
  const { t } = useTranslation('operators');
  return (
    <Removal
      name={name}
      act="revoke"
      remove={(reason, changeKey) =>
        change(
          'DELETE /console/api/operator-tokens/{name}',
          { params: { name }, body: { reason } },
          changeKey,
        )
      }
      onClose={onClose}
      text={t('revokeText')}
    />
  );
}

interface RemovalProps {
  readonly name: string;
  readonly act: 'remove' | 'revoke';
  readonly text: string;
  readonly remove: (reason: string, changeKey: string) => Promise<unknown>;
  readonly onClose: () => void;
}

function Removal({ name, act, text, remove, onClose }: RemovalProps) {
  const { t } = useTranslation('operators');
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  return (
    <ActDialog
      title={t(`${act}Title`, { name })}
      description={text}
      confirmText={t(act)}
      isDangerous
      values={[name, reason.trim()]}
      isValid={reason.trim() !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) => remove(reason.trim(), changeKey)}
      done={t(`${act}Done`, { name })}
      onClose={onClose}
    >
      <ReasonField value={reason} onChange={setReason} isTried={isTried} />
    </ActDialog>
  );
}

/** Creates a token of a machine, and shows it once. */
export function AddToken({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('operators');
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [lastDay, setLastDay] = useState('');
  const [isTried, setIsTried] = useState(false);
  const [made, setMade] = useState<MadeToken | null>(null);
  const lastMs = startOfDay(lastDay);
  if (made !== null)
    return (
      <MadeSecret
        title={t('tokenMade', { name: made.name })}
        code={made.token}
        label={t('token')}
        made={made}
        onClose={onClose}
      >
        <p className="text-sm text-muted">{t('tokenOnce')}</p>
      </MadeSecret>
    );
  return (
    <ActDialog
      title={t('addToken')}
      description={t('addTokenText')}
      confirmText={t('create')}
      values={[name.trim(), role, lastDay]}
      isValid={isName(name.trim()) && lastMs !== null}
      onInvalid={() => setIsTried(true)}
      act={async (changeKey) => {
        const expiresAt = new Date((lastMs ?? 0) + dayMs).toISOString();
        const body = { name: name.trim(), role, expires_at: expiresAt };
        setMade(await change('POST /console/api/operator-tokens', { body }, changeKey));
      }}
      done={null}
      onDone={() => undefined}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} isTried={isTried} />
      <RoleField value={role} onChange={setRole} />
      <Field
        label={t('lastDay')}
        hint={t('lastDayHint')}
        error={isTried && lastMs === null ? t('lastDayError') : null}
      >
        <Input type="date" value={lastDay} onChange={({ target }) => setLastDay(target.value)} />
      </Field>
    </ActDialog>
  );
}

function SignInLink({ made, onClose }: { made: SentLink; onClose: () => void }) {
  const { t } = useTranslation('operators');
  return (
    <MadeLink title={t('linkMade')} made={made} onClose={onClose}>
      {t('linkText')}
    </MadeLink>
  );
}

function NameField({
  value,
  onChange,
  isTried,
}: {
  value: string;
  onChange: (name: string) => void;
  isTried: boolean;
}) {
  const { t } = useTranslation('operators');
  return (
    <Field
      label={t('column.name')}
      hint={t('nameHint')}
      error={isTried && !isName(value.trim()) ? t('nameError') : null}
    >
      <Input value={value} maxLength={60} onChange={({ target }) => onChange(target.value)} />
    </Field>
  );
}

function RoleField({ value, onChange }: { value: Role; onChange: (role: Role) => void }) {
  const { t } = useTranslation('operators');
  return (
    <div className="flex flex-col gap-1">
      <div>
        <Segmented
          label={t('column.role')}
          value={value}
          onChange={onChange}
          options={roles.map((role) => ({ value: role, label: t(`common:role.${role}`) }))}
        />
      </div>
      <p className="text-xs text-muted">{t(`rights.${value}`)}</p>
    </div>
  );
}
