import { memo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Button, IconButton } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Textarea } from '../../ui/field.tsx';
import { type Message, newMessage } from './conversation.ts';
import { Markdown } from './markdown-view.tsx';
import type { Model } from './model.ts';
import { Pictures } from './pictures.tsx';
import type { Playground } from './playground.ts';
import { RunLine } from './run-line.tsx';
import { ToolCalls } from './tool-calls.tsx';

export interface MessageViewProps {
  readonly message: Message;
  /** Its place in the conversation, from 1. */
  readonly number: number;
  readonly model: Model | undefined;
  /** A request is in flight: nothing before its answer may change. */
  readonly isLocked: boolean;
  readonly isLast: boolean;
  readonly playground: Playground;
  /** Sends the conversation as it is then. */
  readonly run: () => void;
}

/** One message: who wrote it, what, and what can be done with it. Rendered when it changes only. */
export const MessageView = memo((props: MessageViewProps) => {
  const { message, number, model, isLocked, isLast, playground, run } = props;
  const { t } = useTranslation('playground');
  const [isEditing, setIsEditing] = useState(false);
  const role = t(`role.${message.role}`);
  const named = { role, number };
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 gap-y-1 md:grid-cols-[72px_minmax(0,1fr)_112px]">
      <p className="text-sm font-medium text-muted">{role}</p>
      <div className="flex min-w-0 flex-col gap-3 max-md:order-3 max-md:col-span-2">
        {isEditing ? (
          <Editor
            label={t('editOf', named)}
            text={message.text}
            onSave={(text) => {
              setIsEditing(false);
              playground.edit(message.id, (before) => ({ ...before, text }));
            }}
            onCancel={() => setIsEditing(false)}
          />
        ) : (
          <Content message={message} number={number} />
        )}
        <ToolCalls
          message={message}
          number={number}
          {...(isLast && !isLocked
            ? {
                onResults: (results) => {
                  const sent = results.map(({ callId, text }) =>
                    newMessage('tool', { text, toolCallId: callId }),
                  );
                  playground.set({ messages: [...playground.snapshot().messages, ...sent] });
                  run();
                },
              }
            : {})}
        />
        <RunLine message={message} model={model} />
      </div>
      <div className="-mt-1 flex items-start justify-end max-md:order-2">
        {message.text === '' ? null : <CopyButton text={message.text} />}
        {message.role !== 'assistant' || isLocked ? null : (
          <IconButton
            icon="refresh"
            size="sm"
            label={t('regenerateOf', named)}
            onClick={() => {
              playground.cutFrom(message.id);
              run();
            }}
          />
        )}
        {isLocked ? null : (
          <>
            <IconButton icon="edit" size="sm" label={t('editOf', named)} onClick={() => setIsEditing(true)} />
            <IconButton
              icon="trash"
              size="sm"
              label={t('deleteOf', named)}
              onClick={() => playground.edit(message.id, () => null)}
            />
          </>
        )}
      </div>
    </li>
  );
});

function Content({ message, number }: { message: Message; number: number }) {
  const { t } = useTranslation('playground');
  const { role, text, reasoning, pictures } = message;
  return (
    <>
      {reasoning === '' ? null : (
        <details open={text === ''} className="text-sm text-muted">
          <summary className="cursor-pointer">{t('reasoning')}</summary>
          <p className="mt-1 border-l-2 pl-3 whitespace-pre-wrap">{reasoning}</p>
        </details>
      )}
      <Pictures pictures={pictures} />
      {text === '' ? null : role === 'assistant' ? (
        <Markdown text={text} number={number} />
      ) : (
        <p className="whitespace-pre-wrap">{text}</p>
      )}
    </>
  );
}

function Editor(props: {
  label: string;
  text: string;
  onSave: (text: string) => void;
  onCancel: () => void;
}) {
  const { t } = useTranslation('playground');
  const [text, setText] = useState(props.text);
  return (
    <div className="flex flex-col gap-2">
      <Textarea
        aria-label={props.label}
        autoFocus
        rows={Math.min(12, Math.max(3, text.split('\n').length))}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={({ key }) => {
          if (key === 'Escape') props.onCancel();
        }}
      />
      <div className="flex gap-2">
        <Button variant="primary" size="sm" onClick={() => props.onSave(text)}>
          {t('common:save')}
        </Button>
        <Button size="sm" onClick={props.onCancel}>
          {t('common:cancel')}
        </Button>
      </div>
    </div>
  );
}
