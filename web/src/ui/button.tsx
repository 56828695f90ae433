import type { ComponentProps, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { classNames } from './class-names.ts';
import { Icon, type IconName } from './icons.tsx';
import { Tooltip } from './tooltip.tsx';

export type ButtonVariant = 'primary' | 'secondary' | 'quiet' | 'danger';
export type ButtonSize = 'sm' | 'md';

const variants: Readonly<Record<ButtonVariant, string>> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-hover',
  secondary: 'border border-line-strong/60 bg-bg text-text hover:bg-hover active:bg-pressed',
  quiet: 'text-muted hover:bg-hover hover:text-text active:bg-pressed',
  danger: 'bg-bad text-on-bad hover:bg-bad-hover',
};
const disabledLook =
  'disabled:border-transparent disabled:bg-hover disabled:text-disabled disabled:hover:bg-hover';
const sizes: Readonly<Record<ButtonSize, string>> = {
  sm: 'h-7 gap-1.5 px-2 text-sm',
  md: 'h-8 gap-1.5 px-3 text-base',
};

/** The classes of a button, for a link that looks like one. */
export function buttonClass(variant: ButtonVariant = 'secondary', size: ButtonSize = 'md'): string {
  return classNames(
    'inline-flex shrink-0 items-center justify-center rounded-md font-medium whitespace-nowrap transition-colors duration-100',
    variants[variant],
    sizes[size],
    disabledLook,
  );
}

export interface ButtonProps extends ComponentProps<'button'> {
  readonly variant?: ButtonVariant;
  readonly size?: ButtonSize;
  readonly icon?: IconName;
  /** Shows a spinner and ignores clicks; the button keeps its place and its focus. */
  readonly isBusy?: boolean;
}

/** A button. `type` is `button` unless stated. */
export function Button({ variant, size, icon, isBusy = false, className, children, ...rest }: ButtonProps) {
  const { onClick, ...props } = rest;
  return (
    <button
      type="button"
      {...props}
      {...(isBusy ? { 'aria-busy': true, 'aria-disabled': true } : { onClick })}
      className={classNames(buttonClass(variant, size), className)}
    >
      {isBusy ? <Spinner /> : icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}

export interface IconButtonProps extends Omit<ButtonProps, 'children' | 'icon'> {
  readonly icon: IconName;
  /** What the button does; also its tooltip. */
  readonly label: string;
}

/** A square button with an icon only; its label is the tooltip and the accessible name. */
export function IconButton({
  icon,
  label,
  size = 'md',
  variant = 'quiet',
  className,
  ...rest
}: IconButtonProps) {
  return (
    <Tooltip text={label}>
      <Button
        {...rest}
        variant={variant}
        size={size}
        aria-label={label}
        icon={icon}
        className={classNames(size === 'sm' ? 'w-7 px-0' : 'w-8 px-0', className)}
      />
    </Tooltip>
  );
}

/** A turning ring. The element that waits carries `aria-busy`. */
export function Spinner({ size = 14 }: { size?: number }) {
  return (
    <svg aria-hidden="true" width={size} height={size} viewBox="0 0 16 16" className="spinner shrink-0">
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="2" opacity="0.25" />
      <path d="M14 8a6 6 0 0 0-6-6" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
    </svg>
  );
}

/** A spinner with the words "loading", for a place whose shape is not known. */
export function Loading({ children }: { children?: ReactNode }) {
  const { t } = useTranslation();
  return (
    <p role="status" className="flex items-center gap-2 py-6 text-sm text-muted">
      <Spinner /> {children ?? t('loading')}
    </p>
  );
}
