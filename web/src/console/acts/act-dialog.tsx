import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { newChangeKey } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Banner } from '../../ui/states.tsx';
import { showToast } from '../../ui/toast.tsx';

export interface ActDialogProps {
  readonly title: ReactNode;
  readonly description?: ReactNode;
  readonly confirmText: string;
  readonly isDangerous?: boolean;
  readonly size?: 'sm' | 'lg';
  /** What the form states; another value is another act, with an idempotency key of its own. */
  readonly values: readonly string[];
  readonly isValid: boolean;
  /** The form was sent although it is not valid: its fields say what is missing. */
  readonly onInvalid?: () => void;
  readonly act: (changeKey: string) => Promise<unknown>;
  /** What was done, in a toast; null: `act` says it. */
  readonly done: string | null;
  /** In place of `onClose` when it was done: `act` shows more. */
  readonly onDone?: () => void;
  readonly onClose: () => void;
  /** The fields, and what the act changes. */
  readonly children: ReactNode;
}

/**
 * An act of an operator: fields, its effect in numbers, and a button that says what happens. A retry
 * is the same act; what was typed stays when the server refuses it. Everything shown is read again
 * afterwards.
 */
export function ActDialog(props: ActDialogProps) {
  const { values, isValid, act, done, onClose, children } = props;
  const { t } = useTranslation('acts');
  const language = useLanguage();
  const queries = useQueryClient();
  const formId = useId();
  const stated = values.join('\0');
  const [sent, setSent] = useState({ stated, changeKey: newChangeKey() });
  const acting = useMutation({
    mutationFn: act,
    onSuccess: () => {
      if (done !== null) showToast({ tone: 'good', text: done });
      (props.onDone ?? onClose)();
    },
    onSettled: () => queries.invalidateQueries(),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (acting.isPending) return;
    if (!isValid) {
      props.onInvalid?.();
      return;
    }
    const next = sent.stated === stated ? sent : { stated, changeKey: newChangeKey() };
    setSent(next);
    acting.mutate(next.changeKey);
  };
  return (
    <Dialog
      isOpen
      onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}
      title={props.title}
      {...(props.description === undefined ? {} : { description: props.description })}
      size={props.size ?? 'sm'}
      footer={
        <>
          <Button onClick={onClose}>{t('common:cancel')}</Button>
          <Button
            variant={props.isDangerous === true ? 'danger' : 'primary'}
            type="submit"
            form={formId}
            isBusy={acting.isPending}
          >
            {props.confirmText}
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} noValidate className="flex flex-col gap-3">
        {children}
        {acting.isError ? <Banner tone="bad">{wordsOfError(acting.error, language, t)}</Banner> : null}
      </form>
    </Dialog>
  );
}
