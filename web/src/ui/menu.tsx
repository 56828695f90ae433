import * as Dropdown from '@radix-ui/react-dropdown-menu';
import { type ReactNode, useRef } from 'react';
import { classNames } from './class-names.ts';
import { Icon, type IconName } from './icons.tsx';

export interface MenuAction {
  readonly kind?: 'action';
  readonly label: ReactNode;
  readonly icon?: IconName;
  readonly shortcut?: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  readonly onSelect: () => void;
}

export interface MenuCheck {
  readonly kind: 'check';
  readonly label: ReactNode;
  readonly isChecked: boolean;
  readonly isDisabled?: boolean;
  readonly onChange: (isChecked: boolean) => void;
}

export interface MenuChoice {
  readonly kind: 'choice';
  readonly label: string;
  readonly value: string;
  readonly options: readonly {
    readonly value: string;
    readonly label: ReactNode;
    readonly icon?: IconName;
  }[];
  readonly onChange: (value: string) => void;
}

export interface MenuNote {
  readonly kind: 'note';
  readonly label: ReactNode;
}

export type MenuItem = MenuAction | MenuCheck | MenuChoice | MenuNote | { readonly kind: 'line' };

export interface MenuProps {
  /** The button that opens the menu. */
  readonly trigger: ReactNode;
  readonly items: readonly MenuItem[];
  readonly align?: 'start' | 'end';
}

const itemClass =
  'flex min-h-7 w-full items-center gap-2 rounded-sm px-2 py-1 text-sm outline-none select-none data-[disabled]:text-disabled data-[highlighted]:bg-hover';

/**
 * A menu of actions. It is not modal: the modal one of Radix writes a style element, which the content
 * security policy forbids.
 */
export function Menu({ trigger, items, align = 'end' }: MenuProps) {
  const button = useRef<HTMLButtonElement>(null);
  // A dialog that an action opens gives the focus back to what had it: the button, not the item.
  const focusButton = () => button.current?.focus();
  return (
    <Dropdown.Root modal={false}>
      <Dropdown.Trigger ref={button} asChild>
        {trigger}
      </Dropdown.Trigger>
      <Dropdown.Portal>
        <Dropdown.Content
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className="popup z-50 max-h-[var(--radix-dropdown-menu-content-available-height)] min-w-44 overflow-y-auto rounded-md bg-raised p-1 shadow-raised"
        >
          {items.map((item, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the items of one menu have a fixed order.
            <Item key={index} item={item} focusButton={focusButton} />
          ))}
        </Dropdown.Content>
      </Dropdown.Portal>
    </Dropdown.Root>
  );
}

function Item({ item, focusButton }: { item: MenuItem; focusButton: () => void }) {
  switch (item.kind) {
    case 'line':
      return <Dropdown.Separator className="my-1 border-t" />;
    case 'note':
      return <Dropdown.Label className="px-2 py-1 text-xs text-muted">{item.label}</Dropdown.Label>;
    case 'check':
      return (
        <Dropdown.CheckboxItem
          checked={item.isChecked}
          disabled={item.isDisabled === true}
          onCheckedChange={item.onChange}
          onSelect={(event) => event.preventDefault()}
          className={itemClass}
        >
          <span className="flex size-4 items-center justify-center">
            <Dropdown.ItemIndicator>
              <Icon name="check" size={14} />
            </Dropdown.ItemIndicator>
          </span>
          {item.label}
        </Dropdown.CheckboxItem>
      );
    case 'choice':
      return (
        <Dropdown.RadioGroup value={item.value} onValueChange={item.onChange} aria-label={item.label}>
          <Dropdown.Label className="px-2 py-1 text-xs text-muted">{item.label}</Dropdown.Label>
          {item.options.map(({ value, label, icon }) => (
            <Dropdown.RadioItem key={value} value={value} className={itemClass}>
              {icon === undefined ? null : <Icon name={icon} className="text-muted" />}
              <span className="flex-1">{label}</span>
              <Dropdown.ItemIndicator>
                <Icon name="check" size={14} />
              </Dropdown.ItemIndicator>
            </Dropdown.RadioItem>
          ))}
        </Dropdown.RadioGroup>
      );
    default:
      return (
        <Dropdown.Item
          disabled={item.isDisabled === true}
          onSelect={() => {
            focusButton();
            item.onSelect();
          }}
          className={classNames(itemClass, item.isDangerous === true && 'text-bad')}
        >
          {item.icon === undefined ? null : <Icon name={item.icon} />}
          <span className="flex-1">{item.label}</span>
          {item.shortcut === undefined ? null : <kbd className="text-xs text-muted">{item.shortcut}</kbd>}
        </Dropdown.Item>
      );
  }
}
