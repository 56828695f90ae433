import * as RadixDialog from '@radix-ui/react-dialog';
import { type ReactNode, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from './button.tsx';
import { classNames } from './class-names.ts';
import { Field, Input } from './field.tsx';

export interface DialogProps {
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
  readonly title: ReactNode;
  /** One sentence below the title; announced with it. */
  readonly description?: ReactNode;
  /** The buttons, the main one last. */
  readonly footer?: ReactNode;
  readonly size?: 'sm' | 'md' | 'lg';
  /** Neither Escape nor a click beside the dialog closes it; there is no close button. */
  readonly isLocked?: boolean;
  /** `side` is a panel at the edge: for the navigation of a phone. */
  readonly placement?: 'center' | 'side';
  readonly children?: ReactNode;
}

const widths = { sm: 'max-w-100', md: 'max-w-130', lg: 'max-w-190' } as const;

/**
 * A modal dialog: keeps the focus inside, returns it at the end, closes with Escape. The overlay is our
 * own: that of Radix writes a style element, which the content security policy forbids.
 */
export function Dialog(props: DialogProps) {
  const { isOpen, onOpenChange, title, description, footer, size = 'md', isLocked = false, children } = props;
  const isSide = props.placement === 'side';
  const { t } = useTranslation();
  const focus = useFocusReturn();
  const keep = (event: Event): void => {
    if (isLocked) event.preventDefault();
  };
  return (
    <RadixDialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <RadixDialog.Portal>
        <div className="fixed inset-0 z-40 bg-overlay" />
        <RadixDialog.Content
          data-modal="open"
          onEscapeKeyDown={keep}
          onInteractOutside={keep}
          {...focus}
          {...(description === undefined ? { 'aria-describedby': undefined } : {})}
          className={classNames(
            'popup fixed z-50 flex flex-col bg-raised shadow-raised focus:outline-none',
            isSide
              ? 'inset-y-0 left-0 w-70 max-w-[85vw]'
              : 'inset-x-3 top-[8vh] mx-auto max-h-[84vh] rounded-lg max-md:top-3 max-md:max-h-[calc(100dvh-24px)]',
            isSide ? '' : widths[size],
          )}
        >
          <div className="flex items-start gap-3 px-5 pt-4 pb-2">
            <div className="min-w-0 flex-1">
              <RadixDialog.Title className="text-lg font-semibold">{title}</RadixDialog.Title>
              {description === undefined ? null : (
                <RadixDialog.Description className="mt-1 text-sm text-muted">
                  {description}
                </RadixDialog.Description>
              )}
            </div>
            {isLocked ? null : (
              <RadixDialog.Close asChild>
                <Button
                  variant="quiet"
                  icon="close"
                  aria-label={t('close')}
                  className="-mt-1 -mr-2 w-8 px-0"
                />
              </RadixDialog.Close>
            )}
          </div>
          <div className="min-h-0 flex-1 overflow-y-auto px-5 py-2">{children}</div>
          {footer === undefined ? (
            <div className="h-3" />
          ) : (
            <div className="flex justify-end gap-2 px-5 pt-2 pb-4 max-md:[&>*]:flex-1">{footer}</div>
          )}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

/**
 * The focus of a dialog that opens by state: Radix gives it back to a trigger of its own only. It goes
 * to what opened the dialog, or to the heading of the page where that has gone, as the row of a key
 * that was revoked; and stays where a new page has taken it.
 */
export function useFocusReturn() {
  const opener = useRef<Element>(null);
  return {
    onOpenAutoFocus: (event: Event): void => {
      opener.current = document.activeElement;
      focusInput(event);
    },
    onCloseAutoFocus: (event: Event): void => {
      event.preventDefault();
      if (document.activeElement !== null && document.activeElement !== document.body) return;
      const target =
        opener.current?.isConnected === true ? opener.current : document.querySelector('main h1');
      if (target instanceof HTMLElement) target.focus();
    },
  };
}

/** The first input has the focus, not the close button before it. */
function focusInput(event: Event): void {
  const input =
    event.target instanceof Element
      ? event.target.querySelector<HTMLElement>('input, textarea, select')
      : null;
  if (input === null) return;
  event.preventDefault();
  input.focus();
}

export interface ConfirmDialogProps {
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
  readonly title: ReactNode;
  readonly description: ReactNode;
  readonly confirmText: string;
  /** The person types this text before the button works: for what cannot be undone. */
  readonly typeToConfirm?: string;
  readonly isDangerous?: boolean;
  /** There is nothing to confirm yet. */
  readonly isDisabled?: boolean;
  readonly isBusy?: boolean;
  /** The failure of the last try, in words. */
  readonly error?: ReactNode;
  readonly onConfirm: () => void;
  readonly children?: ReactNode;
}

/** Asks before something that matters. The button says what happens, not "OK". */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { isOpen, onOpenChange, typeToConfirm, isDangerous = false, isBusy = false, onConfirm } = props;
  const { t } = useTranslation();
  const [typed, setTyped] = useState('');
  const isTyped = typeToConfirm === undefined || typed.trim() === typeToConfirm;
  const isReady = isTyped && props.isDisabled !== true;
  const change = (open: boolean): void => {
    setTyped('');
    onOpenChange(open);
  };
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={change}
      title={props.title}
      description={props.description}
      size="sm"
      footer={
        <>
          <Button onClick={() => change(false)}>{t('cancel')}</Button>
          <Button
            variant={isDangerous ? 'danger' : 'primary'}
            disabled={!isReady}
            isBusy={isBusy}
            onClick={onConfirm}
          >
            {props.confirmText}
          </Button>
        </>
      }
    >
      {props.children}
      {typeToConfirm === undefined ? null : (
        <Field label={t('typeToConfirm', { text: typeToConfirm })} className="my-2">
          <Input value={typed} onChange={(event) => setTyped(event.target.value)} spellCheck={false} />
        </Field>
      )}
      {props.error === undefined || props.error === null ? null : (
        <p role="alert" className="my-2 text-sm text-bad">
          {props.error}
        </p>
      )}
    </Dialog>
  );
}
