import { type ComponentProps, createContext, type ReactNode, useContext, useId } from 'react';
import { classNames } from './class-names.ts';
import { Icon } from './icons.tsx';

interface FieldContext {
  readonly id: string;
  readonly describedBy: string | undefined;
  readonly isInvalid: boolean;
}

const Context = createContext<FieldContext | null>(null);

export interface FieldProps {
  readonly label: ReactNode;
  /** What to enter, below the input. */
  readonly hint?: ReactNode;
  /** What is wrong and what to do; replaces the hint. */
  readonly error?: ReactNode;
  /** "optional" in the language of the page, when the field is. */
  readonly optionalText?: string;
  readonly className?: string;
  readonly children: ReactNode;
}

/** A label, one input, and a hint or an error, tied together for assistive technology. */
export function Field({ label, hint, error, optionalText, className, children }: FieldProps) {
  const id = useId();
  const noteId = `${id}-note`;
  const hasError = error !== undefined && error !== null && error !== '' && error !== false;
  const note = hasError ? error : hint;
  const hasNote = note !== undefined && note !== null && note !== '';
  return (
    <Context value={{ id, describedBy: hasNote ? noteId : undefined, isInvalid: hasError }}>
      <div className={classNames('flex flex-col gap-1', className)}>
        <label htmlFor={id} className="text-sm font-medium">
          {label}
          {optionalText === undefined ? null : (
            <span className="ml-1 font-normal text-muted">{optionalText}</span>
          )}
        </label>
        {children}
        {hasNote ? (
          <p
            id={noteId}
            className={classNames('flex items-start gap-1 text-xs', hasError ? 'text-bad' : 'text-muted')}
          >
            {hasError ? <Icon name="alert" size={14} className="mt-px" /> : null}
            <span>{note}</span>
          </p>
        ) : null}
      </div>
    </Context>
  );
}

const control =
  'w-full rounded-md border border-line-strong/70 bg-bg text-base text-text transition-colors hover:border-line-strong focus-visible:border-accent focus-visible:outline-offset-0 disabled:border-line disabled:bg-subtle disabled:text-disabled aria-invalid:border-bad';

function useControl(): Pick<ComponentProps<'input'>, 'id' | 'aria-describedby' | 'aria-invalid'> {
  const field = useContext(Context);
  if (field === null) return {};
  return {
    id: field.id,
    'aria-describedby': field.describedBy,
    ...(field.isInvalid ? { 'aria-invalid': true } : {}),
  };
}

export interface InputProps extends Omit<ComponentProps<'input'>, 'prefix'> {
  /** Text inside the input's edge, such as a unit. */
  readonly suffix?: ReactNode;
  /** Digits: right-aligned, with a numeric keyboard. */
  readonly isNumeric?: boolean;
}

/** A text input. Inside a `Field` it takes the label. */
export function Input({ className, suffix, isNumeric = false, ...props }: InputProps) {
  const input = (
    <input
      type="text"
      autoComplete="off"
      {...useControl()}
      {...(isNumeric ? { inputMode: 'decimal' as const } : {})}
      {...props}
      className={classNames(
        control,
        'h-8 px-2.5',
        isNumeric && 'text-right',
        suffix !== undefined && (typeof suffix === 'string' && suffix.length > 1 ? 'pr-14' : 'pr-9'),
        className,
      )}
    />
  );
  if (suffix === undefined) return input;
  return (
    <span className="relative block">
      {input}
      <span className="pointer-events-none absolute inset-y-0 right-2.5 flex items-center text-sm text-muted">
        {suffix}
      </span>
    </span>
  );
}

/** Several lines of text. */
export function Textarea({ className, ...props }: ComponentProps<'textarea'>) {
  const { id, ...aria } = useControl();
  return (
    <textarea
      rows={4}
      {...(id === undefined ? {} : { id })}
      {...aria}
      {...props}
      className={classNames(control, 'px-2.5 py-1.5', className)}
    />
  );
}

export interface Option<Value extends string = string> {
  readonly value: Value;
  readonly label: string;
  readonly isDisabled?: boolean;
}

export interface SelectProps extends ComponentProps<'select'> {
  readonly options: readonly Option[];
}

/** One of several options: the browser's own list, which phones and assistive technology know best. */
export function Select({ options, className, ...props }: SelectProps) {
  const { id, ...aria } = useControl();
  return (
    <span className={classNames('relative block', className)}>
      <select
        {...(id === undefined ? {} : { id })}
        {...aria}
        {...props}
        className={classNames(control, 'h-8 appearance-none truncate pr-8 pl-2.5')}
      >
        {options.map(({ value, label, isDisabled = false }) => (
          <option key={value} value={value} disabled={isDisabled}>
            {label}
          </option>
        ))}
      </select>
      <Icon
        name="chevrons"
        size={14}
        className="pointer-events-none absolute inset-y-0 right-2 my-auto text-muted"
      />
    </span>
  );
}

export interface ChoiceProps extends Omit<ComponentProps<'input'>, 'type'> {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
}

/** A checkbox with its label. */
export function Checkbox({ label, hint, className, ...props }: ChoiceProps) {
  return (
    <Choice label={label} hint={hint} className={className}>
      <span className="relative mt-0.5 flex size-4 shrink-0">
        <input
          type="checkbox"
          {...props}
          className="peer size-4 appearance-none rounded-sm border border-line-strong bg-bg checked:border-accent checked:bg-accent disabled:border-line disabled:bg-hover"
        />
        <Icon
          name="check"
          size={12}
          className="pointer-events-none absolute inset-0 m-auto hidden text-on-accent peer-checked:block peer-disabled:text-disabled"
        />
      </span>
    </Choice>
  );
}

/** A switch with its label: takes effect at once, without a save button. */
export function Switch({ label, hint, className, ...props }: ChoiceProps) {
  return (
    <Choice label={label} hint={hint} className={className}>
      <span className="relative mt-0.5 flex h-[18px] w-8 shrink-0">
        <input
          type="checkbox"
          // biome-ignore lint/a11y/useAriaPropsForRole: a checkbox has its state without aria-checked.
          role="switch"
          {...props}
          className="peer h-[18px] w-8 appearance-none rounded-full border border-line-strong bg-hover transition-colors checked:border-accent checked:bg-accent disabled:border-line disabled:bg-hover"
        />
        <span className="pointer-events-none absolute top-[3px] left-[3px] size-3 rounded-full bg-line-strong transition-transform peer-checked:translate-x-3.5 peer-checked:bg-on-accent peer-disabled:bg-disabled" />
      </span>
    </Choice>
  );
}

function Choice({
  label,
  hint,
  className,
  children,
}: Pick<ChoiceProps, 'label' | 'hint' | 'className'> & { children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is in children.
    <label className={classNames('flex min-h-6 items-start gap-2', className)}>
      {children}
      <span>
        <span className="block">{label}</span>
        {hint === undefined ? null : <span className="block text-xs text-muted">{hint}</span>}
      </span>
    </label>
  );
}
