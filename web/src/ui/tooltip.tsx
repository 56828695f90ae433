import * as RadixTooltip from '@radix-ui/react-tooltip';
import type { ReactNode } from 'react';

/** Once around the application: tooltips open after 300 ms, at once when another one was just open. */
export function TooltipProvider({ children }: { children: ReactNode }) {
  return (
    <RadixTooltip.Provider delayDuration={300} skipDelayDuration={200}>
      {children}
    </RadixTooltip.Provider>
  );
}

export interface TooltipProps {
  readonly text: ReactNode;
  readonly side?: 'top' | 'bottom' | 'left' | 'right';
  /** One element that takes focus. */
  readonly children: ReactNode;
}

/** A short explanation on hover and focus. Never the only place of something that must be read. */
export function Tooltip({ text, side = 'bottom', children }: TooltipProps) {
  return (
    <RadixTooltip.Root>
      <RadixTooltip.Trigger asChild>{children}</RadixTooltip.Trigger>
      <RadixTooltip.Portal>
        <RadixTooltip.Content
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="popup z-50 max-w-80 rounded-md bg-text px-2 py-1 text-xs text-bg"
        >
          {text}
        </RadixTooltip.Content>
      </RadixTooltip.Portal>
    </RadixTooltip.Root>
  );
}
