import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';
import { Icon, type IconName } from './icons.tsx';

/** What a state means. `neutral` is no judgement. */
export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'accent';

const badgeTones: Readonly<Record<Tone, string>> = {
  neutral: 'bg-hover text-muted',
  good: 'bg-good-subtle text-good',
  warn: 'bg-warn-subtle text-warn',
  bad: 'bg-bad-subtle text-bad',
  accent: 'bg-accent-subtle text-accent-text',
};

/** A short word beside a name: a kind, a scope. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={classNames(
        'inline-flex h-5 items-center gap-1 rounded-sm px-1.5 text-xs font-medium whitespace-nowrap',
        badgeTones[tone],
      )}
    >
      {children}
    </span>
  );
}

/** Each tone has its own icon: a state is never colour alone. */
const statusIcons: Readonly<Record<Tone, IconName>> = {
  neutral: 'minus',
  good: 'checkCircle',
  warn: 'clock',
  bad: 'alert',
  accent: 'live',
};
const statusTones: Readonly<Record<Tone, string>> = {
  neutral: 'text-muted',
  good: 'text-good',
  warn: 'text-warn',
  bad: 'text-bad',
  accent: 'text-accent-text',
};

export interface StatusProps {
  readonly tone: Tone;
  /** Another icon than that of the tone. */
  readonly icon?: IconName;
  /** It is a sentence instead of a word. */
  readonly isLong?: boolean;
  readonly children: ReactNode;
}

/** A state: an icon in its colour and the word. */
export function Status({ tone, icon, isLong = false, children }: StatusProps) {
  return (
    <span
      className={classNames(
        'inline-flex items-center gap-1 align-middle',
        !isLong && 'whitespace-nowrap',
        statusTones[tone],
      )}
    >
      <Icon name={icon ?? statusIcons[tone]} size={14} />
      {children}
    </span>
  );
}
