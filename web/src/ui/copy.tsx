import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { shortenId } from '../format/id.ts';
import { Button, type ButtonSize, IconButton } from './button.tsx';
import { classNames } from './class-names.ts';
import { Icon } from './icons.tsx';
import { showToast } from './toast.tsx';
import { Tooltip } from './tooltip.tsx';

const shownMs = 1_500;

/** Copies text; `isCopied` is true for a moment afterwards. */
export function useCopy(): { readonly isCopied: boolean; readonly copy: (text: string) => Promise<void> } {
  const { t } = useTranslation();
  const [isCopied, setIsCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async (text: string): Promise<void> => {
    try {
      await writeClipboard(text);
    } catch {
      showToast({ tone: 'bad', text: t('copyFailed') });
      return;
    }
    setIsCopied(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setIsCopied(false), shownMs);
  };
  return { isCopied, copy };
}

/** The clipboard of a page without TLS on another host than localhost exists only as a command. */
async function writeClipboard(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  area.setAttribute('aria-hidden', 'true');
  area.className = 'sr-only';
  document.body.append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  if (!isDone) throw new Error('copying was refused');
}

/** A button that copies; says so when it did. */
export function CopyButton({
  text,
  label,
  size = 'sm',
}: {
  text: string;
  label?: string;
  size?: ButtonSize;
}) {
  const { t } = useTranslation();
  const { isCopied, copy } = useCopy();
  const name = isCopied ? t('copied') : (label ?? t('copy'));
  if (label === undefined)
    return (
      <IconButton
        icon={isCopied ? 'check' : 'copy'}
        size={size}
        label={name}
        onClick={() => void copy(text)}
      />
    );
  return (
    <Button icon={isCopied ? 'check' : 'copy'} size={size} onClick={() => void copy(text)}>
      {name}
    </Button>
  );
}

export interface CopyableIdProps {
  readonly id: string;
  readonly maxChars?: number;
  /** What the id is, for assistive technology: "generation id". */
  readonly label?: string;
}

/** An id in monospace, shortened in its middle; a click copies the whole. */
export function CopyableId({ id, maxChars = 18, label }: CopyableIdProps) {
  const { t } = useTranslation();
  const { isCopied, copy } = useCopy();
  return (
    <Tooltip text={isCopied ? t('copied') : id}>
      <button
        type="button"
        onClick={(event) => {
          event.stopPropagation();
          void copy(id);
        }}
        className={classNames(
          'group -mx-1 inline-flex h-6 items-center gap-1 max-w-[calc(100%+8px)] rounded-sm px-1 font-mono text-xs whitespace-nowrap hover:bg-hover',
        )}
      >
        <span className="truncate">{shortenId(id, maxChars)}</span>
        <span className="sr-only">{t('copyId', { label: label ?? 'id', id })}</span>
        <Icon
          name={isCopied ? 'check' : 'copy'}
          size={12}
          className={
            isCopied
              ? 'text-good'
              : 'text-muted opacity-0 group-hover:opacity-100 group-focus-visible:opacity-100'
          }
        />
      </button>
    </Tooltip>
  );
}
