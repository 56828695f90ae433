import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { ResponseOf } from '../../api/client.ts';
import { useLanguage } from '../../i18n/use-format.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Time } from '../../ui/figures.tsx';
import { Banner } from '../../ui/states.tsx';

/** A one-time link, or why the response to a repeated request has none. */
export type SentLink = Pick<ResponseOf<'POST /console/api/operators/{id}/link'>, 'link' | 'message'>;

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A secret to copy, which leaves once, so that only the button closes the dialog; or why there is none. */
export function MadeSecret({
  title,
  code,
  label,
  made,
  onClose,
  children,
}: Props & {
  readonly code: string | null;
  readonly label: string;
  readonly made: Pick<SentLink, 'message'>;
}) {
  const { t } = useTranslation('acts');
  const language = useLanguage();
  return (
    <Dialog
      isOpen
      isLocked
      size="sm"
      onOpenChange={() => undefined}
      title={title}
      footer={<Button onClick={onClose}>{t('common:close')}</Button>}
    >
      {code === null ? (
        <Banner tone="bad">{made.message?.[language]}</Banner>
      ) : (
        <div className="flex flex-col gap-2">
          <CodeBlock code={code} label={label} isWrapped />
          {children}
        </div>
      )}
    </Dialog>
  );
}

/** The whole address of a one-time link, and until when it works. */
export function MadeLink({ made, children, ...rest }: Props & { readonly made: SentLink }) {
  const { t } = useTranslation('acts');
  return (
    <MadeSecret {...rest} made={made} code={made.link?.url ?? null} label={t('link')}>
      <p className="text-sm">{children}</p>
      <p className="text-sm text-muted">
        {t('linkNote')} <Time at={made.link?.expires_at ?? null} />
      </p>
    </MadeSecret>
  );
}
