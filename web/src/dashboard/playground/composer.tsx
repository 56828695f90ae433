import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from '../../ui/button.tsx';
import { Select, Textarea } from '../../ui/field.tsx';
import type { Picture, Role } from './conversation.ts';
import { AttachButton, Pictures, useTakePictures } from './pictures.tsx';
import { type Playground, usePlayground } from './playground.ts';

const roles = ['user', 'assistant', 'system'] as const satisfies readonly Role[];
type WrittenRole = (typeof roles)[number];

/** A message that a person has written. */
export interface Written {
  readonly role: WrittenRole;
  readonly text: string;
  readonly pictures: readonly Picture[];
}

export interface ComposerProps {
  readonly playground: Playground;
  readonly takesImages: boolean;
  readonly isRunning: boolean;
  /** Why nothing can be sent now, in words. */
  readonly obstacle: string | null;
  /** Adds the message; a user's message is sent too. */
  readonly onWritten: (written: Written) => void;
  readonly onStop: () => void;
}

/** Where a message is written. Enter sends it, Shift and Enter begins a line. */
export function Composer(props: ComposerProps) {
  const { playground, takesImages, isRunning, obstacle, onWritten, onStop } = props;
  const { t } = useTranslation('playground');
  const draft = usePlayground(playground, 'draft');
  const [role, setRole] = useState<WrittenRole>('user');
  const [pictures, setPictures] = useState<readonly Picture[]>([]);
  const takeFiles = useTakePictures(pictures, setPictures);
  const isEmpty = draft.trim() === '' && pictures.length === 0;
  const isBlocked = isRunning || isEmpty || (role === 'user' && obstacle !== null);
  const send = (): void => {
    if (isBlocked) return;
    onWritten({ role, text: draft, pictures: role === 'user' ? pictures : [] });
    setRole('user');
    setPictures([]);
  };
  return (
    <form
      className="sticky bottom-0 flex flex-col gap-2 border-t bg-bg pt-3 pb-4"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Pictures
        pictures={pictures}
        onRemove={(removed) => setPictures(pictures.filter((_, index) => index !== removed))}
      />
      <Textarea
        rows={3}
        aria-label={t('message')}
        placeholder={t('placeholder')}
        value={draft}
        onChange={({ target }) => playground.set({ draft: target.value })}
        onKeyDown={(event) => {
          // The Enter that ends the composition of a Korean syllable does not send.
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }}
        onPaste={({ clipboardData }) => {
          if (takesImages && clipboardData.files.length > 0) void takeFiles([...clipboardData.files]);
        }}
      />
      <div className="flex items-center gap-2">
        <Select
          className="w-32"
          aria-label={t('writeAs')}
          value={role}
          onChange={({ target }) => setRole(roles.find((one) => one === target.value) ?? 'user')}
          options={roles.map((value) => ({ value, label: t(`role.${value}`) }))}
        />
        {takesImages && role === 'user' ? <AttachButton onFiles={(files) => void takeFiles(files)} /> : null}
        <span className="min-w-0 flex-1 truncate text-right text-xs text-muted max-md:hidden">
          {obstacle ?? t('keys')}
        </span>
        <span className="flex-1 md:hidden" />
        {isRunning ? (
          <Button icon="stop" variant="danger" onClick={onStop}>
            {t('stop')}
          </Button>
        ) : (
          <Button variant="primary" type="submit" icon="arrowUp" disabled={isBlocked}>
            {t(role === 'user' ? 'send' : 'add')}
          </Button>
        )}
      </div>
    </form>
  );
}
