import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { readQuery } from '../../api/query.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Checkbox } from '../../ui/field.tsx';
import { Programs } from '../apps/programs.tsx';

/** A new key with its plaintext, which no later response has. */
export type Created = Pick<ResponseOf<'POST /dashboard/api/keys'>, 'key' | 'plaintext'>;

/** U5c: the plaintext once, with how to use it. It closes when the person states that it is stored. */
export function CreatedKey({ created, onClose }: { created: Created; onClose: () => void }) {
  const { t } = useTranslation('keys');
  const [isStored, setIsStored] = useState(false);
  const isInference = created.key.kind === 'inference';
  const models = useQuery(readQuery('GET /dashboard/api/models', {}));
  const model = models.data?.items[0]?.id ?? 'author/model';
  return (
    <Dialog
      isOpen
      isLocked
      onOpenChange={() => undefined}
      title={t('created.title', { name: created.key.name })}
      description={t('created.once')}
      footer={
        <Button variant="primary" disabled={!isStored} onClick={onClose}>
          {t('created.done')}
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <CodeBlock label={t('created.plaintext')} code={created.plaintext} isWrapped />
        {isInference ? (
          <Programs model={model} plaintext={created.plaintext} />
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
