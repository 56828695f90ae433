import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { change, type ResponseOf } from '../api/client.ts';
import { readQuery } from '../api/query.ts';
import { useApp } from '../app/area.ts';
import type { Area } from '../app/pages.ts';
import { ReadError } from '../app/read-error.tsx';
import { hasPasskeys } from '../sign-in/passkey.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Field, Input } from '../ui/field.tsx';
import { RelativeTime, Time } from '../ui/figures.tsx';
import { Banner, SkeletonLines } from '../ui/states.tsx';
import { showToast } from '../ui/toast.tsx';
import { type Confirmation, useConfirmed } from './confirmed.tsx';
import { deviceOf } from './device.ts';

type Passkey = ResponseOf<'GET /dashboard/api/passkeys'>['items'][number];

const queryOf = (area: Area) => readQuery(`GET /${area}/api/passkeys` as const, {});

/** The passkeys of the person: added through this browser, and removed. */
export function Passkeys({ hasPassword }: { hasPassword: boolean }) {
  const { t } = useTranslation('settings');
  const { area } = useApp();
  const passkeys = useQuery(queryOf(area));
  if (passkeys.data === undefined)
    return passkeys.isError ? <ReadError of={passkeys} /> : <SkeletonLines lines={2} />;
  return (
    <div className="flex max-w-150 flex-col gap-3">
      {passkeys.data.items.length === 0 ? (
        <p className="text-sm text-muted">{t('noPasskeys')}</p>
      ) : (
        <ul className="flex flex-col">
          {passkeys.data.items.map((passkey) => (
            <PasskeyItem key={passkey.id} passkey={passkey} hasPassword={hasPassword} />
          ))}
        </ul>
      )}
      {passkeys.data.is_offered && hasPasskeys() ? (
        <AddPasskey hasPassword={hasPassword} />
      ) : (
        <p className="text-sm text-muted">
          {t(passkeys.data.is_offered ? 'passkeysUnsupported' : 'passkeysNotHere')}
        </p>
      )}
    </div>
  );
}

function PasskeyItem({ passkey, hasPassword }: { passkey: Passkey; hasPassword: boolean }) {
  const { t } = useTranslation('settings');
  const queries = useQueryClient();
  const { area } = useApp();
  const [isOpen, setIsOpen] = useState(false);
  const removing = useConfirmed({
    hasPassword,
    run: (id: string, confirmation) =>
      change(`DELETE /${area}/api/passkeys/{id}` as const, { params: { id }, body: confirmation }),
    onSuccess: () => {
      setIsOpen(false);
      showToast({ tone: 'good', text: t('passkeyRemoved', { name: passkey.name }) });
      void queries.invalidateQueries({ queryKey: queryOf(area).queryKey });
    },
  });
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b py-2 text-sm">
      <span className="min-w-0 flex-1 font-medium">{passkey.name}</span>
      <span className="text-muted">
        {t('addedAt')} <Time at={passkey.created_at} />
        {passkey.last_used_at === null ? null : (
          <>
            {' · '}
            {t('lastUsed')} <RelativeTime at={passkey.last_used_at} />
          </>
        )}
      </span>
      <Button
        size="sm"
        aria-label={t('removePasskey', { name: passkey.name })}
        onClick={() => setIsOpen(true)}
      >
        {t('remove')}
      </Button>
      <ConfirmDialog
        isOpen={isOpen && removing.dialog === null}
        onOpenChange={setIsOpen}
        title={t('removePasskeyTitle', { name: passkey.name })}
        description={t('removePasskeyText')}
        confirmText={t('remove')}
        isDangerous
        isBusy={removing.isPending}
        error={removing.error}
        onConfirm={() => removing.start(passkey.id)}
      />
      {removing.dialog}
    </li>
  );
}

function AddPasskey({ hasPassword }: { hasPassword: boolean }) {
  const { t } = useTranslation('settings');
  const queries = useQueryClient();
  const { area } = useApp();
  const [name, setName] = useState(() => deviceOf(navigator.userAgent));
  const adding = useConfirmed({
    hasPassword,
    run: (given: string, confirmation) => addPasskey(area, given, confirmation),
    onSuccess: (added) => {
      if (added === null) return;
      showToast({ tone: 'good', text: t('passkeyAdded', { name: added.name }) });
      void queries.invalidateQueries({ queryKey: queryOf(area).queryKey });
    },
  });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (!adding.isPending && name.trim() !== '') adding.start(name.trim());
      }}
    >
      <Field label={t('passkeyName')} hint={t('passkeyNameHint')} className="max-w-110">
        <Input value={name} maxLength={100} onChange={({ target }) => setName(target.value)} />
      </Field>
      {adding.error === null ? null : <Banner tone="bad">{adding.error}</Banner>}
      <div>
        <Button type="submit" icon="plus" isBusy={adding.isPending} disabled={name.trim() === ''}>
          {t('addPasskey')}
        </Button>
      </div>
      {adding.dialog}
    </form>
  );
}

/** Null when the person closed the browser's dialog. */
async function addPasskey(area: Area, name: string, confirmation: Confirmation): Promise<Passkey | null> {
  const { step, options } = await change(`POST /${area}/api/passkeys/options` as const, {
    body: confirmation,
  });
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as never);
  const credential = await navigator.credentials.create({ publicKey }).catch((error: unknown) => {
    if (error instanceof DOMException && ['NotAllowedError', 'AbortError'].includes(error.name)) return null;
    throw error;
  });
  if (!(credential instanceof PublicKeyCredential)) return null;
  const { id, rawId, response } = credential.toJSON() as RegistrationResponseJSON;
  const { clientDataJSON, attestationObject, transports } = response;
  return change(`POST /${area}/api/passkeys` as const, {
    body: {
      step,
      name,
      response: {
        id,
        rawId,
        type: 'public-key',
        response: { clientDataJSON, attestationObject, transports: [...(transports ?? [])] },
      },
    },
  });
}
