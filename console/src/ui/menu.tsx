import type { JSX, ReactNode } from 'react';
import { Button, Header, Menu, MenuItem, MenuSection, MenuTrigger, Popover } from 'react-aria-components';
import { Icon, type IconName } from './icon.tsx';

export interface MenuChoice {
  id: string;
  label: string;
  hint?: string;
}

/** A button that opens a menu. With `selected`, the entries are switches and the menu stays open. */
export function MenuButton({
  icon,
  label,
  name,
  title,
  choices,
  selected,
  onAction,
  onSelect,
  className = 'button',
}: {
  icon?: IconName;
  label: ReactNode;
  /** What a screen reader says, if the label is an icon. */
  name?: string;
  /** The heading of the menu. */
  title: string;
  choices: readonly MenuChoice[];
  selected?: ReadonlySet<string>;
  onAction?: (id: string) => void;
  onSelect?: (ids: Set<string>) => void;
  className?: string;
}): JSX.Element {
  return (
    <MenuTrigger>
      <Button className={className} aria-label={name}>
        {icon !== undefined && <Icon name={icon} />}
        {label}
      </Button>
      <Popover className="popover" placement="bottom end">
        <Menu
          className="menu"
          aria-label={title}
          onAction={(id) => onAction?.(String(id))}
          {...(selected === undefined
            ? {}
            : {
                selectionMode: 'multiple' as const,
                selectedKeys: selected,
                onSelectionChange: (keys: 'all' | Set<string | number>) =>
                  onSelect?.(new Set(keys === 'all' ? choices.map(({ id }) => id) : [...keys].map(String))),
              })}
        >
          <MenuSection>
            <Header className="menu-title">{title}</Header>
            {choices.map(({ id, label: text, hint }) => (
              <MenuItem key={id} id={id} textValue={text} className="menu-item">
                {({ isSelected }) => (
                  <>
                    {selected !== undefined && (
                      <span className="mark">{isSelected && <Icon name="check" size={14} />}</span>
                    )}
                    {text}
                    {hint !== undefined && <span className="soft">{hint}</span>}
                  </>
                )}
              </MenuItem>
            ))}
          </MenuSection>
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
