import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { assertFirstAnswer, change, type ResponseOf } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { useConfirmed } from '../../settings/confirmed.tsx';
import { Status } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx';
import { Checkbox, Field, Input } from '../../ui/field.tsx';
import { Time } from '../../ui/figures.tsx';
import { QrCode } from '../../ui/qr-code.tsx';
import { Banner } from '../../ui/states.tsx';
import { showToast } from '../../ui/toast.tsx';
import { type Profile, refreshProfile } from './profile.ts';

type Enrolment = ReturnType<typeof enrolmentOf>;

/** Throws `ApiError` where the secret was lost on its way. */
function enrolmentOf(begun: ResponseOf<'POST /dashboard/api/totp'>) {
  assertFirstAnswer(begun);
  return { secret: begun.secret ?? '', uri: begun.uri ?? '' };
}

/** Codes of an authenticator app beside the password. */
export function Totp({ profile }: { profile: Profile }) {
  return profile.totp_enabled_at === null ? <TurnOn profile={profile} /> : <TurnOff profile={profile} />;
}

function TurnOn({ profile }: { profile: Profile }) {
  const { t } = useTranslation('settings');
  const queries = useQueryClient();
  const [enrolment, setEnrolment] = useState<Enrolment | null>(null);
  const beginning = useConfirmed({
    hasPassword: profile.has_password,
    run: async (_: null, confirmation) =>
      enrolmentOf(await change('POST /dashboard/api/totp', { body: confirmation })),
    onSuccess: setEnrolment,
  });
  return (
    <div className="flex max-w-150 flex-col gap-3">
      <p className="text-sm text-muted">{t('totpText')}</p>
      {beginning.error === null ? null : <Banner tone="bad">{beginning.error}</Banner>}
      <div>
        <Button isBusy={beginning.isPending} onClick={() => beginning.start(null)}>
          {t('totpOn')}
        </Button>
      </div>
      {beginning.dialog}
      {enrolment === null ? null : (
        <EnrolmentDialog
          enrolment={enrolment}
          onClose={() => {
            setEnrolment(null);
            refreshProfile(queries);
          }}
        />
      )}
    </div>
  );
}

function EnrolmentDialog({ enrolment, onClose }: { enrolment: Enrolment; onClose: () => void }) {
  const { t } = useTranslation('settings');
  const language = useLanguage();
  const [code, setCode] = useState('');
  const enabling = useMutation({
    mutationFn: () => change('POST /dashboard/api/totp/enable', { body: { code } }),
  });
  if (enabling.data !== undefined) return <RecoveryCodes enabled={enabling.data} onClose={onClose} />;
  return (
    <Dialog
      isOpen
      size="sm"
      onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}
      title={t('totpTitle')}
      description={t('totpScan')}
      footer={
        <>
          <Button onClick={onClose}>{t('common:cancel')}</Button>
          <Button type="submit" form="totp" variant="primary" isBusy={enabling.isPending}>
            {t('totpConfirm')}
          </Button>
        </>
      }
    >
      <form
        id="totp"
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (!enabling.isPending && code.trim() !== '') enabling.mutate();
        }}
      >
        <Field
          label={t('totpCode')}
          error={enabling.isError ? wordsOfError(enabling.error, language, t) : null}
        >
          <Input
            inputMode="numeric"
            autoComplete="one-time-code"
            maxLength={20}
            value={code}
            onChange={({ target }) => setCode(target.value)}
          />
        </Field>
        <div className="flex justify-center">
          <QrCode text={enrolment.uri} label={t('totpQr')} />
        </div>
        <p className="text-sm text-muted">{t('totpByHand')}</p>
        <CodeBlock label={t('totpSecret')} code={enrolment.secret} isWrapped />
      </form>
    </Dialog>
  );
}

function RecoveryCodes({
  enabled: { recovery_codes: codes, message },
  onClose,
}: {
  enabled: ResponseOf<'POST /dashboard/api/totp/enable'>;
  onClose: () => void;
}) {
  const { t } = useTranslation('settings');
  const language = useLanguage();
  const [isStored, setIsStored] = useState(false);
  return (
    <Dialog
      isOpen
      isLocked
      size="sm"
      onOpenChange={() => undefined}
      title={t('recoveryTitle')}
      description={t('recoveryText')}
      footer={
        <Button variant="primary" disabled={!isStored} onClick={onClose}>
          {t('common:close')}
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        {codes === null ? (
          <Banner tone="bad">{message?.[language]}</Banner>
        ) : (
          <CodeBlock label={t('recoveryCodes')} code={codes.join('\n')} />
        )}
        <Checkbox
          label={t('recoveryStored')}
          checked={isStored}
          onChange={({ target }) => setIsStored(target.checked)}
        />
      </div>
    </Dialog>
  );
}

function TurnOff({ profile }: { profile: Profile }) {
  const { t } = useTranslation('settings');
  const queries = useQueryClient();
  const [isOpen, setIsOpen] = useState(false);
  const disabling = useConfirmed({
    hasPassword: profile.has_password,
    run: (_: null, confirmation) => change('POST /dashboard/api/totp/disable', { body: confirmation }),
    onSuccess: () => {
      setIsOpen(false);
      showToast({ tone: 'good', text: t('totpIsOff') });
      refreshProfile(queries);
    },
  });
  return (
    <div className="flex max-w-150 flex-col gap-3">
      <p className="flex flex-wrap items-center gap-x-3 text-sm">
        <Status tone="good">{t('totpIsOn')}</Status>
        <span className="text-muted">
          <Time at={profile.totp_enabled_at} /> · {t('recoveryLeft', { count: profile.recovery_codes_left })}
        </span>
      </p>
      <div>
        <Button onClick={() => setIsOpen(true)}>{t('totpOff')}</Button>
      </div>
      <ConfirmDialog
        isOpen={isOpen && disabling.dialog === null}
        onOpenChange={setIsOpen}
        title={t('totpOffTitle')}
        description={t('totpOffText')}
        confirmText={t('totpOff')}
        isDangerous
        isBusy={disabling.isPending}
        error={disabling.error}
        onConfirm={() => disabling.start(null)}
      />
      {disabling.dialog}
    </div>
  );
}
