import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { wordsOfError } from '../../api/errors.ts';
import { readQuery } from '../../api/query.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx';
import { Checkbox } from '../../ui/field.tsx';
import { Programs } from '../apps/programs.tsx';
import { replaceKey } from './key.ts';

/** A new key with its plaintext, which no later response has. */
export type Created = ResponseOf<'POST /dashboard/api/keys'>;

/**
 * U5c: the plaintext once, with how to use it. It closes when the person states that it is stored. The
 * answer to a repeated request has no plaintext: then the key can be replaced by another one.
 */
export function CreatedKey({ created, onClose, onCreated }: CreatedKeyProps) {
  const { t } = useTranslation('keys');
  const [isStored, setIsStored] = useState(false);
  const { data, key } = created;
  const models = useQuery(readQuery('GET /dashboard/api/models', {}));
  const model = models.data?.items[0]?.id ?? 'author/model';
  if (key === null) return <LostKey created={created} onClose={onClose} onCreated={onCreated} />;
  return (
    <Dialog
      isOpen
      isLocked
      onOpenChange={() => undefined}
      title={t('created.title', { name: data.name })}
      description={t('created.once')}
      footer={
        <Button variant="primary" disabled={!isStored} onClick={onClose}>
          {t('created.done')}
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <CodeBlock label={t('created.plaintext')} code={key} isWrapped />
        {data.kind === 'inference' ? (
          <Programs model={model} plaintext={key} />
        ) : (
          <p className="text-sm text-muted">{t('created.management')}</p>
        )}
        <Checkbox
          label={t('created.stored')}
          checked={isStored}
          onChange={({ target }) => setIsStored(target.checked)}
        />
      </div>
    </Dialog>
  );
}

export interface CreatedKeyProps {
  readonly created: Created;
  readonly onClose: () => void;
  readonly onCreated: (created: Created) => void;
}

/** The key exists and nobody has its plaintext: it is replaced, or left for the list to revoke. */
function LostKey({ created: { data, message }, onClose, onCreated }: CreatedKeyProps) {
  const { t } = useTranslation('keys');
  const language = useLanguage();
  const replacing = useMutation({
    mutationFn: () => replaceKey(data.hash),
    onSuccess: onCreated,
  });
  return (
    <ConfirmDialog
      isOpen
      onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}
      title={t('created.lostTitle', { name: data.name })}
      description={message?.[language] ?? t('created.once')}
      confirmText={t('created.replace')}
      isBusy={replacing.isPending}
      error={replacing.error === null ? undefined : wordsOfError(replacing.error, language, t)}
      onConfirm={() => replacing.mutate()}
    />
  );
}
