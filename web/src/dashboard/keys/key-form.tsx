import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, newChangeKey } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { decimalWon, parseWon } from '../../format/money.ts';
import { startOfDay } from '../../format/time.ts';
import { useFormat, useLanguage } from '../../i18n/use-format.ts';
import {
  changedRestrictions,
  isPerMinuteValid,
  noRestrictions,
  RestrictionFields,
  restrictionsOf,
} from '../../keys/restrictions.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Input, Select } from '../../ui/field.tsx';
import { Banner } from '../../ui/states.tsx';
import { showToast } from '../../ui/toast.tsx';
import type { Created } from './created-key.tsx';
import {
  isRevokedMeanwhile,
  type KeyKind,
  type KeyRow,
  keysQueryKey,
  type LimitReset,
  limitResets,
} from './key.ts';

export interface KeyFormProps {
  readonly kind: KeyKind;
  /** The key to change; absent: a new one. */
  readonly row?: KeyRow;
  readonly onClose: () => void;
  readonly onCreated?: (created: Created) => void;
}

const dayMs = 86_400_000;

/** Creates a key, or changes the settings of one. What was typed stays when the server refuses it. */
export function KeyForm({ kind, row, onClose, onCreated }: KeyFormProps) {
  const { t } = useTranslation('keys');
  const format = useFormat();
  const language = useLanguage();
  const queries = useQueryClient();
  const [name, setName] = useState(row?.name ?? '');
  const [limit, setLimit] = useState(
    row === undefined || row.limit_micro === null ? '' : decimalWon(row.limit_micro),
  );
  const [reset, setReset] = useState<LimitReset>(row?.limit_reset ?? 'monthly');
  const [restrictions, setRestrictions] = useState(restrictionsOf(row ?? noRestrictions));
  const models = useQuery({ ...readQuery('GET /dashboard/api/models', {}), enabled: kind === 'inference' });
  const catalogue = models.data?.items ?? [];
  const [lastDay, setLastDay] = useState('');
  const [isTried, setIsTried] = useState(false);
  const [changeKey, setChangeKey] = useState(newChangeKey);
  const limitMicro = limit.trim() === '' ? null : parseWon(limit);
  const isLimitValid = limit.trim() === '' || (limitMicro !== null && limitMicro >= 0n);
  const expiryMs = lastDay === '' ? null : startOfDay(lastDay);
  const isValid = name.trim() !== '' && isLimitValid && isPerMinuteValid(restrictions);
  const settings = {
    limit_micro: limitMicro === null ? null : String(limitMicro),
    limit_reset: reset,
    ...changedRestrictions(row ?? noRestrictions, restrictions),
  };
  const saving = useMutation({
    mutationFn: async (): Promise<Created | null> => {
      const own = { name: name.trim(), ...(kind === 'inference' ? settings : {}) };
      if (row !== undefined) {
        await change(
          'PATCH /dashboard/api/keys/{hash}',
          { params: { hash: row.hash }, body: own },
          changeKey,
        );
        return null;
      }
      const expires_at = expiryMs === null ? null : new Date(expiryMs + dayMs).toISOString();
      return change('POST /dashboard/api/keys', { body: { kind, ...own, expires_at } }, changeKey);
    },
    onSuccess: async (created) => {
      if (created === null) {
        showToast({ tone: 'good', text: t('saved', { name: name.trim() }) });
        onClose();
      } else onCreated?.(created);
      await queries.invalidateQueries({ queryKey: keysQueryKey });
    },
    onError: (error) => {
      if (!isRevokedMeanwhile(error)) return;
      showToast({ tone: 'bad', text: wordsOfError(error, language, t) });
      onClose();
      void queries.invalidateQueries({ queryKey: keysQueryKey });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setIsTried(true);
    if (isValid && !saving.isPending) saving.mutate();
  };
  // Another change than the one that failed needs a key of its own.
  const edited = (apply: () => void): void => {
    apply();
    if (!saving.isError) return;
    saving.reset();
    setChangeKey(newChangeKey());
  };
  const formId = 'key-form';
  return (
    <Dialog
      isOpen
      onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}
      title={t(row === undefined ? `createTitle.${kind}` : 'editTitle')}
      size="sm"
      footer={
        <>
          <Button onClick={onClose}>{t('common:cancel')}</Button>
          <Button variant="primary" type="submit" form={formId} isBusy={saving.isPending}>
            {t(row === undefined ? 'create' : 'common:save')}
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate className="flex flex-col gap-3">
        <Field
          label={t('column.name')}
          hint={t('nameHint')}
          error={isTried && name.trim() === '' ? t('nameError') : null}
        >
          <Input
            value={name}
            maxLength={200}
            onChange={({ target }) => edited(() => setName(target.value))}
            autoComplete="off"
          />
        </Field>
        {kind === 'inference' ? (
          <>
            <Field
              label={t('column.limit')}
              optionalText={t('common:optional')}
              hint={limitMicro === null ? t('limitHint') : format.money(limitMicro)}
              error={isTried && !isLimitValid ? t('limitError') : null}
            >
              <Input
                value={limit}
                isNumeric
                inputMode="decimal"
                suffix={t('won')}
                onChange={({ target }) => edited(() => setLimit(target.value))}
              />
            </Field>
            <Field label={t('reset')}>
              <Select
                value={reset}
                onChange={({ target }) => edited(() => setReset(target.value as LimitReset))}
                options={limitResets.map((value) => ({ value, label: t(`resets.${value}`) }))}
              />
            </Field>
            <RestrictionFields
              value={restrictions}
              onChange={(value) => edited(() => setRestrictions(value))}
              models={catalogue.map(({ id }) => id)}
              providers={[
                ...new Set(catalogue.flatMap(({ candidates }) => candidates.map(({ tag }) => tag))),
              ]}
            />
          </>
        ) : null}
        {row === undefined ? (
          <Field label={t('lastDay')} optionalText={t('common:optional')} hint={t('lastDayHint')}>
            <Input
              type="date"
              value={lastDay}
              onChange={({ target }) => edited(() => setLastDay(target.value))}
            />
          </Field>
        ) : null}
        {saving.isError ? <Banner tone="bad">{wordsOfError(saving.error, language, t)}</Banner> : null}
      </form>
    </Dialog>
  );
}
