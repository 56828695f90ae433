import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { formatBytes } from '../../format/number.ts';
import { IconButton } from '../../ui/button.tsx';
import { showToast } from '../../ui/toast.tsx';
import type { Picture } from './conversation.ts';

/** What providers take, and what fits into the body of a request with room for several. */
const types = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];
const maxBytes = 4_000_000;
const maxPictures = 5;

/** Takes image files of this machine into a message as data URLs; says why it does not take one. */
export function useTakePictures(
  pictures: readonly Picture[],
  onChange: (pictures: readonly Picture[]) => void,
): (files: readonly File[]) => Promise<void> {
  const { t } = useTranslation('playground');
  return async (files) => {
    const refusalOf = (file: File, taken: number): string | null => {
      if (!types.includes(file.type)) return t('imageType', { name: file.name });
      if (file.size > maxBytes)
        return t('imageTooLarge', {
          name: file.name,
          size: formatBytes(file.size),
          max: formatBytes(maxBytes),
        });
      return pictures.length + taken >= maxPictures ? t('imageTooMany', { count: maxPictures }) : null;
    };
    const taken: Picture[] = [];
    for (const file of files) {
      const refusal = refusalOf(file, taken.length);
      if (refusal === null) taken.push({ name: file.name, dataUrl: await dataUrlOf(file) });
      else showToast({ tone: 'bad', text: refusal });
    }
    if (taken.length > 0) onChange([...pictures, ...taken]);
  };
}

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(String(reader.result)));
    reader.addEventListener('error', () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}

/** A button that opens the files of this machine. */
export function AttachButton({ onFiles }: { onFiles: (files: readonly File[]) => void }) {
  const { t } = useTranslation('playground');
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton icon="image" label={t('attach')} onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        accept={types.join(',')}
        multiple
        hidden
        aria-label={t('attach')}
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          target.value = '';
        }}
      />
    </>
  );
}

/** The images of a message; with `onRemove` each can be taken away. */
export function Pictures({
  pictures,
  onRemove,
}: {
  pictures: readonly Picture[];
  onRemove?: (index: number) => void;
}) {
  const { t } = useTranslation('playground');
  if (pictures.length === 0) return null;
  return (
    <ul className="flex flex-wrap gap-2">
      {pictures.map(({ name, dataUrl }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two images may be the same file.
        <li key={index} className="relative">
          {dataUrl === '' ? (
            <p className="max-w-60 rounded-md border px-2 py-1 text-xs text-muted">
              {t('imageGone', { name })}
            </p>
          ) : (
            <img src={dataUrl} alt={name} className="h-20 max-w-40 rounded-md border object-contain" />
          )}
          {onRemove === undefined ? null : (
            <div className="absolute top-1 right-1 rounded-md bg-bg">
              <IconButton
                icon="close"
                size="sm"
                label={t('removeImage', { name })}
                onClick={() => onRemove(index)}
              />
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}
