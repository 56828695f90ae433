import { classNames } from './class-names.ts';
import { CopyButton } from './copy.tsx';

export interface CodeBlockProps {
  readonly code: string;
  /** What the code is: "curl", ".env". */
  readonly label: string;
  /** Breaks long lines instead of scrolling. */
  readonly isWrapped?: boolean;
}

/** Code to copy. It scrolls sideways, by keyboard too. */
export function CodeBlock({ code, label, isWrapped = false }: CodeBlockProps) {
  return (
    <div className="flex items-start rounded-md bg-subtle">
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must take the focus.
        tabIndex={0}
        className="min-w-0 flex-1 overflow-x-auto rounded-md py-2.5 pl-3"
      >
        <pre
          className={classNames(
            'font-mono text-xs leading-[18px]',
            isWrapped ? 'break-all whitespace-pre-wrap' : 'whitespace-pre',
          )}
        >
          {code}
        </pre>
      </section>
      <div className="shrink-0 p-1.5">
        <CopyButton text={code} />
      </div>
    </div>
  );
}
