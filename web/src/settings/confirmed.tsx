import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError, wordsOfError } from '../api/errors.ts';
import { useApp } from '../app/area.ts';
import { useLanguage } from '../i18n/use-format.ts';
import { Button, buttonClass } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, Input } from '../ui/field.tsx';

/** The password that goes along with a change of credentials; absent while the sign-in is recent. */
export interface Confirmation {
  readonly current_password?: string;
}

/**
 * A change of credentials. When the sign-in is too old, the server wants the password again: then
 * `dialog` shows the question, and the change is sent with the answer.
 */
export function useConfirmed<Input, Result>(options: {
  readonly hasPassword: boolean;
  readonly run: (input: Input, confirmation: Confirmation) => Promise<Result>;
  readonly onSuccess: (result: Result, input: Input) => void;
}) {
  const { t } = useTranslation('settings');
  const language = useLanguage();
  const [input, setInput] = useState<Input | null>(null);
  const mutation = useMutation({
    mutationFn: (given: { readonly input: Input; readonly confirmation: Confirmation }) =>
      options.run(given.input, given.confirmation),
    onSuccess: (result, given) => {
      setInput(null);
      options.onSuccess(result, given.input);
    },
    onError: (error, given) => {
      if (isUnconfirmed(error)) setInput(given.input);
    },
  });
  const { error } = mutation;
  return {
    start: (next: Input): void => mutation.mutate({ input: next, confirmation: {} }),
    isPending: mutation.isPending,
    reset: (): void => mutation.reset(),
    /** What went wrong, in words; the missing confirmation is no fault. */
    error: error === null || isUnconfirmed(error) ? null : wordsOfError(error, language, t),
    dialog:
      input === null ? null : (
        <ConfirmationDialog
          hasPassword={options.hasPassword}
          isPending={mutation.isPending}
          error={
            error === null
              ? null
              : isUnconfirmed(error)
                ? mutation.variables?.confirmation.current_password === undefined
                  ? null
                  : t('wrongPassword')
                : wordsOfError(error, language, t)
          }
          onConfirm={(confirmation) => mutation.mutate({ input, confirmation })}
          onClose={() => {
            setInput(null);
            mutation.reset();
          }}
        />
      ),
  };
}

function isUnconfirmed(error: unknown): boolean {
  return error instanceof ApiError && error.type === 'confirmation_required';
}

function ConfirmationDialog(props: {
  hasPassword: boolean;
  isPending: boolean;
  error: string | null;
  onConfirm: (confirmation: Confirmation) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation('settings');
  const [password, setPassword] = useState('');
  const { area } = useApp();
  const { hasPassword } = props;
  return (
    <Dialog
      isOpen
      size="sm"
      onOpenChange={(isOpen) => (isOpen ? undefined : props.onClose())}
      title={t('confirmTitle')}
      description={t(hasPassword ? 'confirmText' : 'confirmSignIn')}
      footer={
        <>
          {hasPassword ? null : (
            <a
              href={`/${area}/sign-in?window=1`}
              target="_blank"
              rel="noopener"
              className={buttonClass('secondary')}
            >
              {t('common:sessionEnded.signIn')}
            </a>
          )}
          <Button variant="primary" type="submit" form="confirmation" isBusy={props.isPending}>
            {t('common:sessionEnded.continue')}
          </Button>
        </>
      }
    >
      <form
        id="confirmation"
        onSubmit={(event) => {
          event.preventDefault();
          // The dialog may stand in a form, to which events bubble through the portal.
          event.stopPropagation();
          if (!props.isPending) props.onConfirm(hasPassword ? { current_password: password } : {});
        }}
      >
        {hasPassword ? (
          <Field label={t('currentPassword')} error={props.error}>
            <Input
              type="password"
              autoComplete="current-password"
              value={password}
              onChange={({ target }) => setPassword(target.value)}
            />
          </Field>
        ) : props.error === null ? null : (
          <p role="alert" className="text-sm text-bad">
            {props.error}
          </p>
        )}
      </form>
    </Dialog>
  );
}
