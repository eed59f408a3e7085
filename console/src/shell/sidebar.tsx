import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import { Icon } from '../ui/icon.tsx';
import { pagesOf } from './pages.ts';
import { setTheme, themes, useTheme } from './theme.ts';
import { useSession } from './use-session.ts';

const themeIcons = { system: 'screen', light: 'sun', dark: 'moon' } as const;

/** The navigation, the theme and the session. */
export function Sidebar({
  isOpen,
  onPalette,
  onHelp,
  onSignOut,
  onNavigate,
}: {
  /** Whether it is shown on a narrow screen. */
  isOpen: boolean;
  onPalette: () => void;
  onHelp: () => void;
  onSignOut: () => void;
  onNavigate: () => void;
}): JSX.Element {
  const session = useSession();
  const theme = useTheme();
  const pages = pagesOf(session);
  const groups = [...new Set(pages.map(({ group }) => group))];
  const nextTheme = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  return (
    <nav className={isOpen ? 'sidebar open' : 'sidebar'} aria-label="Pages">
      <Link to="/" className="brand" onClick={onNavigate}>
        <img src={new URL('icon.svg', document.baseURI).href} alt="" />
        Headgate
      </Link>
      <button type="button" className="nav-link" onClick={onPalette}>
        <Icon name="search" /> Find <kbd>Ctrl K</kbd>
      </button>
      {groups.map((group) => (
        <div key={group}>
          {groups.length > 1 && <p className="nav-group">{group}</p>}
          {pages
            .filter((page) => page.group === group)
            .map(({ path, label, icon }) => (
              <Link
                key={path}
                to={path}
                className="nav-link"
                onClick={onNavigate}
                activeOptions={{ includeSearch: false }}
              >
                <Icon name={icon} /> {label}
              </Link>
            ))}
        </div>
      ))}
      <div className="sidebar-end">
        <button type="button" className="nav-link" onClick={onHelp}>
          <Icon name="keyboard" /> Keyboard <kbd>?</kbd>
        </button>
        <button type="button" className="nav-link" onClick={() => setTheme(nextTheme)}>
          <Icon name={themeIcons[theme]} /> Theme: {theme}
        </button>
        <div className="session">
          <div>
            <strong title={session.key_name}>{session.key_name}</strong>
            <span className="soft">{session.kind === 'management' ? 'Management key' : 'Inference key'}</span>
          </div>
          <button
            type="button"
            className="button quiet icon-only"
            aria-label="Sign out"
            title="Sign out"
            onClick={onSignOut}
          >
            <Icon name="exit" />
          </button>
        </div>
      </div>
    </nav>
  );
}
