import { useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { Button, IconButton } from './button.tsx';
import { Icon, type IconName } from './icons.tsx';

export type ToastTone = 'good' | 'info' | 'bad';

export interface Toast {
  readonly tone?: ToastTone;
  readonly text: string;
  /** One thing to do about it, such as "undo". */
  readonly action?: { readonly label: string; readonly onSelect: () => void };
}

interface ShownToast extends Toast {
  readonly id: number;
}

const shownMs = 6_000;
const maxToasts = 4;
let toasts: readonly ShownToast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

/** Shows a message for six seconds; an error stays until it is closed. */
export function showToast(toast: Toast): void {
  const shown: ShownToast = { ...toast, id: nextId };
  nextId += 1;
  set([...toasts, shown].slice(-maxToasts));
  if (toast.tone !== 'bad') setTimeout(() => closeToast(shown.id), shownMs);
}

function closeToast(id: number): void {
  set(toasts.filter((toast) => toast.id !== id));
}

function set(next: readonly ShownToast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const looks: Readonly<Record<ToastTone, { icon: IconName; className: string }>> = {
  good: { icon: 'checkCircle', className: 'text-good' },
  info: { icon: 'info', className: 'text-muted' },
  bad: { icon: 'alert', className: 'text-bad' },
};

/** Once in the application: where toasts appear and are announced. */
export function Toasts() {
  const { t } = useTranslation();
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-4 z-50 flex w-90 max-w-[calc(100vw-32px)] flex-col gap-2"
    >
      {shown.map(({ id, tone = 'good', text, action }) => (
        <div
          key={id}
          className="popup pointer-events-auto flex items-start gap-2 rounded-md bg-raised py-2 pr-1.5 pl-3 text-sm shadow-raised"
        >
          <Icon name={looks[tone].icon} className={`mt-1 ${looks[tone].className}`} />
          <p className="min-w-0 flex-1 py-0.5">{text}</p>
          {action === undefined ? null : (
            <Button
              size="sm"
              variant="quiet"
              onClick={() => {
                closeToast(id);
                action.onSelect();
              }}
            >
              {action.label}
            </Button>
          )}
          <IconButton icon="close" size="sm" label={t('close')} onClick={() => closeToast(id)} />
        </div>
      ))}
    </div>
  );
}
