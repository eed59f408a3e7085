import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { JSX, KeyboardEvent } from 'react';
import {
  Autocomplete,
  Dialog,
  Input,
  Menu,
  MenuItem,
  Modal,
  ModalOverlay,
  SearchField,
  useFilter,
} from 'react-aria-components';
import { keysQuery } from '../api/queries.ts';
import { readSearchText } from '../requests/filters.ts';
import { Icon, type IconName } from '../ui/icon.tsx';
import { pagesOf } from './pages.ts';
import { setTheme, themes } from './theme.ts';
import { useSession } from './use-session.ts';

interface Command {
  id: string;
  label: string;
  hint: string;
  icon: IconName;
  run: () => unknown;
}

const themeIcons = { system: 'screen', light: 'sun', dark: 'moon' } as const;

/** Finds pages, keys, requests and actions. */
export function Palette({
  text,
  onText,
  onClose,
  onSignOut,
}: {
  /** The text of the field. Letters can arrive before the field exists. */
  text: string;
  onText: (text: string) => void;
  onClose: () => void;
  onSignOut: () => void;
}): JSX.Element {
  const session = useSession();
  const navigate = useNavigate();
  const { contains } = useFilter({ sensitivity: 'base' });
  const keys = useQuery({ ...keysQuery, enabled: session.kind === 'management' });

  const found = readSearchText(text);
  const commands: Command[] = [
    ...(found === undefined
      ? []
      : [
          {
            id: 'search',
            label: 'id' in found ? `Open the request ${found.id}` : `Requests with ${text.trim()}`,
            hint: 'Requests',
            icon: 'search' as const,
            run: () =>
              'id' in found
                ? navigate({ to: '/requests/$id', params: { id: found.id } })
                : navigate({ to: '/requests', search: found.set }),
          },
        ]),
    ...pagesOf(session).map(({ path, label, icon }) => ({
      id: path,
      label,
      hint: 'Page',
      icon,
      run: () => navigate({ to: path }),
    })),
    {
      id: 'failed',
      label: 'Failed requests of the last 24 hours',
      hint: 'Requests',
      icon: 'failed',
      run: () => navigate({ to: '/requests', search: { outcome: 'failed', range: '24h' } }),
    },
    {
      id: 'expensive',
      label: 'Most expensive requests of the last 24 hours',
      hint: 'Requests',
      icon: 'spend',
      run: () => navigate({ to: '/requests', search: { sort: 'cost', range: '24h' } }),
    },
    {
      id: 'slow',
      label: 'Slowest requests of the last 24 hours',
      hint: 'Requests',
      icon: 'requests',
      run: () => navigate({ to: '/requests', search: { sort: 'duration', range: '24h' } }),
    },
    ...themes.map((theme) => ({
      id: `theme-${theme}`,
      label: `Use the ${theme} theme`,
      hint: 'Theme',
      icon: themeIcons[theme],
      run: () => setTheme(theme),
    })),
    { id: 'sign-out', label: 'Sign out', hint: 'Session', icon: 'exit', run: onSignOut },
    ...(text.trim().length < 2 ? [] : (keys.data ?? [])).map(({ hash, name, label }) => ({
      id: hash,
      label: `Requests of ${name || label}`,
      hint: 'Key',
      icon: 'keys' as const,
      run: () => navigate({ to: '/requests', search: { api_key_hash: hash } }),
    })),
  ];

  const run = (id: unknown): void => {
    onClose();
    void commands.find((command) => command.id === id)?.run();
  };
  /** Letters that arrive before the field exists select no entry. Then Enter runs the first one. */
  const runFirst = (event: KeyboardEvent<HTMLInputElement>): void => {
    if (event.key !== 'Enter' || event.currentTarget.hasAttribute('aria-activedescendant')) return;
    const first = commands.find(({ id, label }) => id === 'search' || contains(label, text));
    if (first) run(first.id);
  };

  return (
    <ModalOverlay className="overlay" isOpen isDismissable onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Modal className="dialog palette">
        <Dialog aria-label="Command palette">
          <Autocomplete
            inputValue={text}
            onInputChange={onText}
            filter={(label, input) => label.startsWith('search ') || contains(label, input)}
          >
            <SearchField aria-label="Find a page, a key or an action" autoFocus>
              <Input className="palette-input" placeholder="Find a page, a key or an action" onKeyDown={runFirst} />
            </SearchField>
            <Menu
              className="menu"
              aria-label="Results"
              items={commands}
              dependencies={[text, keys.data]}
              onAction={run}
              renderEmptyState={() => <p className="state">Nothing has this name.</p>}
            >
              {({ id, label, hint, icon }) => (
                <MenuItem id={id} textValue={id === 'search' ? `search ${label}` : label} className="menu-item">
                  <Icon name={icon} />
                  {label}
                  <span className="soft">{hint}</span>
                </MenuItem>
              )}
            </Menu>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
