import { useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../app/page.tsx';
import { type SearchSchema, text, useSearchParams } from '../../app/search-params.ts';
import { parseMicro } from '../../format/money.ts';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/field.tsx';
import { Money } from '../../ui/figures.tsx';
import { Banner, EmptyState } from '../../ui/states.tsx';
import { useMedia } from '../../ui/use-media.ts';
import { CodeDialog } from './code-dialog.tsx';
import { Composer, type Written } from './composer.tsx';
import { type Message, newMessage, wireMessages } from './conversation.ts';
import { MessageView } from './message-view.tsx';
import type { Model } from './model.ts';
import { type Playground, type Snapshot, usePlayground } from './playground.ts';
import { requestMembers } from './settings.ts';
import { SettingsPanel } from './settings-panel.tsx';

/** The model of the address: not `model`, which is the filter that all pages share. */
const schema: SearchSchema<{ with: string }> = { with: text() };

/** The conversation, what is sent with it, and what it has cost. */
export function Conversation({ playground, models }: { playground: Playground; models: readonly Model[] }) {
  const { t } = useTranslation('playground');
  const settings = usePlayground(playground, 'settings');
  const isRunning = usePlayground(playground, 'isRunning');
  const { model, isUnknown, choose } = useModel(playground, models);
  const [isCodeOpen, setIsCodeOpen] = useState(false);
  if (model === undefined) return null;
  const members = requestMembers(model, settings);
  const run = (): void => {
    if (members !== null) void playground.run(model.id, members, t('keyName'));
  };
  const written = ({ role, text: typed, pictures }: Written): void => {
    const message = newMessage(role, { text: typed, pictures });
    playground.set({ messages: [...playground.snapshot().messages, message], draft: '' });
    if (role === 'user') run();
  };
  return (
    <Frame
      title={t('title')}
      actions={
        <>
          <Button icon="terminal" onClick={() => setIsCodeOpen(true)}>
            {t('code')}
          </Button>
          <ClearButton playground={playground} />
        </>
      }
    >
      <div className="grid gap-x-10 gap-y-4 lg:grid-cols-[minmax(0,1fr)_256px]">
        <div className="flex flex-col gap-4 lg:sticky lg:top-16 lg:order-2 lg:-mx-1 lg:-mt-1 lg:max-h-[calc(100dvh-80px)] lg:self-start lg:overflow-y-auto lg:px-1 lg:pt-1 lg:pb-4">
          <Select
            aria-label={t('model')}
            value={model.id}
            onChange={({ target }) => choose(target.value)}
            options={models.map(({ id, name }) => ({
              value: id,
              label: name === id ? id : `${name} (${id})`,
            }))}
          />
          {isUnknown ? <Banner tone="warn">{t('unknownModel')}</Banner> : null}
          <Panel model={model} playground={playground} settings={settings} />
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <Messages playground={playground} model={model} run={run} />
          <Composer
            playground={playground}
            takesImages={model.input_modalities.includes('image')}
            isRunning={isRunning}
            obstacle={members === null ? t('invalidSettings') : null}
            onWritten={written}
            onStop={() => playground.stop()}
          />
        </div>
      </div>
      {isCodeOpen ? (
        <CodeDialog
          body={{
            model: model.id,
            messages: shownMessages(playground.snapshot(), t('example')),
            ...members,
            stream: true,
          }}
          onClose={() => setIsCodeOpen(false)}
        />
      ) : null}
    </Frame>
  );
}

/** The chosen model: that of the address, else the last one, else the first of the list. */
function useModel(playground: Playground, models: readonly Model[]) {
  const last = usePlayground(playground, 'model');
  const [search, change] = useSearchParams(schema);
  const named = models.find(({ id }) => id === search.with);
  return {
    model: named ?? models.find(({ id }) => id === last) ?? models[0],
    isUnknown: search.with !== '' && named === undefined,
    choose: (id: string): void => {
      playground.set({ model: id });
      change({ with: id });
    },
  };
}

function ClearButton({ playground }: { playground: Playground }) {
  const { t } = useTranslation('playground');
  const isEmpty = usePlayground(playground, 'messages').length === 0;
  const isRunning = usePlayground(playground, 'isRunning');
  return (
    <Button icon="trash" disabled={isEmpty || isRunning} onClick={() => playground.set({ messages: [] })}>
      {t('clear')}
    </Button>
  );
}

/** Keeps the end in view while an answer grows, unless the person has scrolled away from it. */
function useFollowedEnd(messages: readonly Message[]): void {
  const height = useRef(0);
  // Before the browser paints: it would lay out the page twice otherwise.
  useLayoutEffect(() => {
    const page = document.documentElement;
    const wasAtEnd = window.scrollY + window.innerHeight >= height.current - 120;
    height.current = page.scrollHeight;
    if (wasAtEnd && messages.length > 0) window.scrollTo({ top: page.scrollHeight });
  }, [messages]);
}

/** The settings: beside the conversation, or folded above it on a phone. */
function Panel(props: { model: Model; playground: Playground; settings: Snapshot['settings'] }) {
  const { model, playground, settings } = props;
  const { t } = useTranslation('playground');
  const isBeside = useMedia('(min-width: 1080px)');
  const panel = (
    <SettingsPanel
      model={model}
      settings={settings}
      onChange={(changed) => playground.set({ settings: changed })}
    />
  );
  if (isBeside) return panel;
  return (
    <details>
      <summary className="cursor-pointer text-sm font-medium">{t('settings')}</summary>
      <div className="pt-3">{panel}</div>
    </details>
  );
}

/** The only part that is rendered again with each frame of an answer. */
function Messages({ playground, model, run }: { playground: Playground; model: Model; run: () => void }) {
  const { t } = useTranslation('playground');
  const messages = usePlayground(playground, 'messages');
  const isRunning = usePlayground(playground, 'isRunning');
  useFollowedEnd(messages);
  const last = messages.at(-1);
  if (messages.length === 0)
    return (
      <EmptyState icon="play" title={t('empty')}>
        {t('emptyText')}
      </EmptyState>
    );
  return (
    <>
      <ol aria-label={t('conversation')} className="flex flex-col gap-6">
        {messages.map((message, index) => (
          <MessageView
            key={message.id}
            message={message}
            number={index + 1}
            model={model}
            isLocked={isRunning}
            isLast={message === last}
            playground={playground}
            run={run}
          />
        ))}
      </ol>
      {last?.role === 'user' && !isRunning ? (
        <div>
          <Button onClick={run}>{t('sendAgain')}</Button>
        </div>
      ) : null}
      <p role="status" className="sr-only">
        {isRunning ? t('isAnswering') : last?.run?.state === 'ended' ? t('hasAnswered') : ''}
      </p>
      <Total messages={messages} />
    </>
  );
}

/** What the answers that are shown have cost together. */
function Total({ messages }: { messages: readonly Message[] }) {
  const { t } = useTranslation('playground');
  const bills = messages.flatMap(({ run }) => (run?.bill ? [parseMicro(run.bill.costMicro)] : []));
  if (bills.length < 2) return null;
  return (
    <p className="text-right text-sm text-muted">
      {t('total')}{' '}
      <span className="font-medium text-text">
        <Money micro={bills.reduce((sum, cost) => sum + cost, 0n)} />
      </span>
    </p>
  );
}

/** The messages of the request that comes next, or, without a draft, of the one that was answered last. */
function shownMessages({ messages, draft }: Snapshot, example: string): readonly object[] {
  const hasDraft = draft.trim() !== '';
  const typed = hasDraft ? [newMessage('user', { text: draft })] : [];
  const isAnswered = !hasDraft && messages.at(-1)?.run != null;
  const all = [...(isAnswered ? messages.slice(0, -1) : messages), ...typed];
  return wireMessages(all.length === 0 ? [newMessage('user', { text: example })] : all);
}
