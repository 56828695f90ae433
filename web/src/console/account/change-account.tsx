import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { ReadError } from '../../app/read-error.tsx';
import { useFormat } from '../../i18n/use-format.ts';
import { Field, Input } from '../../ui/field.tsx';
import { SkeletonLines } from '../../ui/states.tsx';
import { ActDialog } from '../acts/act-dialog.tsx';
import { ReasonField } from '../acts/fields.tsx';
import { type AccountActProps, shownNumber } from './data.ts';

/** Closes an account, or opens it again. */
export function CloseAccount({ account, onClose }: AccountActProps) {
  const { t } = useTranslation('account');
  const format = useFormat();
  const [reason, setReason] = useState('');
  const [isTried, setIsTried] = useState(false);
  const closed = account.closed_at === null;
  const act = closed ? 'close' : 'reopen';
  return (
    <ActDialog
      title={t(`${act}Title`, { name: account.name })}
      description={t(`${act}Text`, {
        shown: format.count(account.keys),
        balance: format.money(account.balance_micro),
      })}
      confirmText={t(act)}
      isDangerous={closed}
      values={[act, reason.trim()]}
      isValid={reason.trim() !== ''}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'POST /console/api/accounts/{account}/closure',
          { params: { account: String(account.id) }, body: { closed, reason: reason.trim() } },
          changeKey,
        )
      }
      done={t(`${act}Done`, { name: account.name })}
      onClose={onClose}
    >
      <ReasonField value={reason} onChange={setReason} isTried={isTried} />
    </ActDialog>
  );
}

/** Changes the name and the business number of an account. */
export function EditAccount({ account, onClose }: AccountActProps) {
  const { t } = useTranslation('account');
  const [name, setName] = useState(account.name);
  const [number, setNumber] = useState(shownNumber(account.business_number) ?? '');
  const [isTried, setIsTried] = useState(false);
  const isMissing = name.trim() === '';
  const digits = number.replaceAll('-', '').trim();
  const isNumber = digits === '' || /^\d{10}$/.test(digits);
  const body = { name: name.trim(), business_number: digits === '' ? null : digits };
  return (
    <ActDialog
      title={t('editTitle', { name: account.name })}
      confirmText={t('common:save')}
      values={[body.name, digits]}
      isValid={!isMissing && isNumber}
      onInvalid={() => setIsTried(true)}
      act={(changeKey) =>
        change(
          'PATCH /console/api/accounts/{account}',
          { params: { account: String(account.id) }, body },
          changeKey,
        )
      }
      done={t('editDone', { name: body.name })}
      onClose={onClose}
    >
      <Field label={t('newName')} error={isTried && isMissing ? t('newNameError') : null}>
        <Input value={name} maxLength={200} onChange={({ target }) => setName(target.value)} />
      </Field>
      <Field
        label={t('businessNumber')}
        hint={t('businessNumberHint')}
        error={isTried && !isNumber ? t('businessNumberError') : null}
        optionalText={t('common:optional')}
      >
        <Input
          value={number}
          maxLength={12}
          inputMode="numeric"
          placeholder="124-81-00998"
          onChange={({ target }) => setNumber(target.value)}
        />
      </Field>
    </ActDialog>
  );
}

/** Erases the person of a closed account, after showing what goes and what stays. */
export function ErasePerson({ account, onClose }: AccountActProps) {
  const { t } = useTranslation('account');
  const format = useFormat();
  const params = { id: String(account.id) };
  const read = useQuery(readQuery('GET /console/api/accounts/{id}/person', { params }));
  const { data } = read;
  const listed = (of: 'removed' | 'kept') =>
    Object.entries(data?.[of] ?? {})
      .filter(([, count]) => count > 0)
      .map(([name, count]) => ({
        name: `${t(`person.${name}`)} · ${format.count(count)}`,
        value: t(`personNote.${name}`, ''),
      }));
  return (
    <ActDialog
      title={t('eraseTitle', { name: account.name })}
      description={t('eraseText')}
      confirmText={t('erase')}
      isDangerous
      values={[]}
      isValid={data !== undefined}
      act={(changeKey) => change('DELETE /console/api/accounts/{id}/person', { params, body: {} }, changeKey)}
      done={t('eraseDone')}
      onClose={onClose}
    >
      {data === undefined ? read.isError ? <ReadError of={read} /> : <SkeletonLines lines={6} /> : null}
      {(data === undefined ? [] : (['removed', 'kept'] as const)).map((of) => (
        <section key={of} className="flex flex-col gap-1">
          <h3 className="text-sm font-medium">{t(`personData.${of}`)}</h3>
          <ul className="flex flex-col gap-1 text-sm">
            {listed(of).map(({ name, value }) => (
              <li key={name}>
                {name} <span className="text-muted">{value}</span>
              </li>
            ))}
            {listed(of).length === 0 ? <li className="text-muted">{t('common:none')}</li> : null}
          </ul>
        </section>
      ))}
    </ActDialog>
  );
}
