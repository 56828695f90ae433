import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../i18n/use-format.ts';
import type { Tone } from './badge.tsx';
import { Button, Spinner } from './button.tsx';
import { classNames } from './class-names.ts';
import { Icon, type IconName } from './icons.tsx';

/** Grey bars in the shape of what is loading. Announced once, as "loading". */
export function Skeleton({ className = 'h-4 w-full' }: { className?: string }) {
  return <span aria-hidden="true" className={classNames('skeleton block', className)} />;
}

/** Several lines of text that are loading. */
export function SkeletonLines({ lines = 3 }: { lines?: number }) {
  const { t } = useTranslation();
  const widths = ['w-full', 'w-11/12', 'w-4/5', 'w-2/3'];
  return (
    <div role="status" aria-label={t('loading')} className="flex flex-col gap-2">
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are alike.
        <Skeleton key={line} className={`h-4 ${widths[line % widths.length]}`} />
      ))}
    </div>
  );
}

export interface MessageStateProps {
  readonly title: ReactNode;
  readonly children?: ReactNode;
  /** What the person can do now. */
  readonly action?: ReactNode;
  readonly icon?: IconName;
}

/** Nothing is there: says why, and how something comes to be there. */
export function EmptyState({ title, children, action, icon = 'inbox' }: MessageStateProps) {
  return <Message icon={icon} iconClass="text-muted" title={title} action={action} body={children} />;
}

export interface ErrorStateProps {
  readonly title?: ReactNode;
  /** What went wrong, in words for a person. */
  readonly children?: ReactNode;
  readonly onRetry?: () => void;
  readonly isRetrying?: boolean;
  /** For the operator: the id that the log has too. */
  readonly requestId?: string | null;
}

/** Something could not be loaded: what, why, and a way on. */
export function ErrorState({ title, children, onRetry, isRetrying = false, requestId }: ErrorStateProps) {
  const { t } = useTranslation();
  return (
    <div role="alert">
      <Message
        icon="alert"
        iconClass="text-bad"
        title={title ?? t('error.title')}
        body={
          <>
            {children ?? t('error.unknown')}
            {requestId === undefined || requestId === null ? null : (
              <span className="mt-1 block font-mono text-xs text-muted">
                {t('error.requestId')} {requestId}
              </span>
            )}
          </>
        }
        action={
          onRetry === undefined ? null : (
            <Button icon="refresh" onClick={onRetry} isBusy={isRetrying}>
              {t('retry')}
            </Button>
          )
        }
      />
    </div>
  );
}

/** The person's role or session does not allow this. */
export function NoPermissionState({ children }: { children?: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Message
      icon="lock"
      iconClass="text-muted"
      title={t('noPermission.title')}
      body={children ?? t('noPermission.text')}
      action={null}
    />
  );
}

function Message(props: {
  icon: IconName;
  iconClass: string;
  title: ReactNode;
  body: ReactNode;
  action: ReactNode;
}) {
  return (
    <div className="mx-auto flex max-w-110 flex-col items-center gap-1 px-4 py-10 text-center">
      <Icon name={props.icon} size={20} className={`mb-1 ${props.iconClass}`} />
      <p className="font-medium">{props.title}</p>
      {props.body === undefined ? null : <div className="text-sm text-muted">{props.body}</div>}
      {props.action === undefined || props.action === null ? null : (
        <div className="mt-3">{props.action}</div>
      )}
    </div>
  );
}

/** The time of now, renewed every second. */
export function useNow(everyMs = 1000): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return nowMs;
}

export interface StaleNoteProps {
  /** When the data was read, in epoch milliseconds; null: not yet, and only its room is kept. */
  readonly updatedMs: number | null;
  /** The data is old because the last refresh failed. */
  readonly isFailing?: boolean;
  readonly onRefresh?: () => void;
  readonly isRefreshing?: boolean;
}

/** How old the data is: "30초 전", with a button; a warning when it cannot be refreshed. */
export function StaleNote({ updatedMs, isFailing = false, onRefresh, isRefreshing = false }: StaleNoteProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const nowMs = useNow();
  const readMs = updatedMs ?? nowMs;
  const age = format.relative(readMs, Math.max(nowMs, readMs));
  return (
    <span
      className={classNames(
        'inline-flex items-center gap-1 text-xs',
        isFailing ? 'text-warn' : 'text-muted',
        updatedMs === null && 'invisible',
      )}
    >
      {isRefreshing ? <Spinner size={13} /> : <Icon name={isFailing ? 'alert' : 'clock'} size={13} />}
      {isFailing ? t('stale.failing', { age }) : t('stale.updated', { age })}
      {onRefresh === undefined ? null : (
        <Button variant="quiet" size="sm" onClick={onRefresh} aria-busy={isRefreshing}>
          {t('refresh')}
        </Button>
      )}
    </span>
  );
}

const bannerTones: Readonly<Record<Exclude<Tone, 'neutral'>, string>> = {
  good: 'bg-good-subtle text-good',
  warn: 'bg-warn-subtle text-warn',
  bad: 'bg-bad-subtle text-bad',
  accent: 'bg-accent-subtle text-accent-text',
};
const bannerIcons = { good: 'checkCircle', warn: 'alert', bad: 'ban', accent: 'info' } as const;

export interface BannerProps {
  readonly tone: Exclude<Tone, 'neutral'>;
  readonly icon?: IconName;
  readonly children: ReactNode;
  readonly action?: ReactNode;
}

/** One line across a page about its whole state: suspended, low on credit, server away. */
export function Banner({ tone, icon, children, action }: BannerProps) {
  return (
    <div
      role={tone === 'bad' ? 'alert' : 'status'}
      className={classNames(
        'flex flex-wrap items-center gap-x-2 gap-y-1 rounded-md px-3 py-1.5 text-sm',
        bannerTones[tone],
      )}
    >
      <Icon name={icon ?? bannerIcons[tone]} />
      <span className="min-w-0 flex-1">{children}</span>
      {action}
    </div>
  );
}
