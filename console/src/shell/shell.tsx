import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { type JSX, lazy, Suspense, useCallback, useEffect, useState } from 'react';
import { type Session, sessionQuery, signOut } from '../api/session.ts';
import { Icon } from '../ui/icon.tsx';
import { Failed, Loading } from '../ui/states.tsx';
import { ConnectionNotice } from './connection-notice.tsx';
import { pagesOf } from './pages.ts';
import { useShortcuts } from './use-shortcuts.ts';
import { Sidebar } from './sidebar.tsx';
import { SignIn } from './sign-in.tsx';
import { SessionContext } from './use-session.ts';

const loadPalette = () => import('./palette.tsx');
const Palette = lazy(() => loadPalette().then(({ Palette }) => ({ default: Palette })));
const ShortcutHelp = lazy(() => import('./shortcut-help.tsx').then(({ ShortcutHelp }) => ({ default: ShortcutHelp })));

/** The palette loads after the first page. */
const PRELOAD_MS = 1000;

/** The frame of all pages. Without a session it asks for a key, at the same URL. */
export function Root(): JSX.Element {
  const session = useQuery(sessionQuery);
  const navigate = useNavigate();
  const isSignInUrl = useRouterState({ select: ({ location }) => location.pathname.endsWith('/sign-in') });
  if (session.error !== null) return <Failed error={session.error} onRetry={() => void session.refetch()} />;
  if (session.data === undefined) return <Loading label="Starting…" />;
  const hasToken = location.hash.startsWith('#token=');
  if (session.data === null || (isSignInUrl && hasToken)) {
    return <SignIn onSignedIn={() => isSignInUrl && void navigate({ to: '/', replace: true })} />;
  }
  return (
    <SessionContext value={session.data}>
      <Shell session={session.data} />
    </SessionContext>
  );
}

function Shell({ session }: { session: Session }): JSX.Element {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [overlay, setOverlay] = useState<'palette' | 'help'>();
  const [isOpen, setOpen] = useState(false);
  const close = useCallback(() => setOverlay(undefined), []);
  const [text, setText] = useState('');
  const openPalette = useCallback(() => {
    setText('');
    setOverlay('palette');
  }, []);
  useEarlyLetters(overlay === 'palette', setText);
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette(), PRELOAD_MS);
    return () => clearTimeout(timer);
  }, []);
  const openHelp = useCallback(() => setOverlay('help'), []);
  const goTo = useCallback(
    (key: string) => {
      const page = pagesOf(session).find((each) => each.key === key);
      if (page !== undefined) void navigate({ to: page.path });
    },
    [session, navigate],
  );
  useShortcuts({ openPalette, openHelp, goTo });

  async function leave(): Promise<void> {
    await signOut().catch(() => {}); // a session that has ended is signed out
    client.setQueryData(sessionQuery.queryKey, null);
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
    void navigate({ to: '/' });
  }

  return (
    <div className="shell">
      <button type="button" className="button primary skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to the content
      </button>
      <header className="topbar">
        <button
          type="button"
          className="button quiet icon-only"
          aria-label="Open the navigation"
          onClick={() => setOpen(true)}
        >
          <Icon name="menu" />
        </button>
        <Link to="/" className="brand">
          Headgate
        </Link>
        <button type="button" className="button quiet icon-only" aria-label="Find" onClick={openPalette}>
          <Icon name="search" />
        </button>
      </header>
      {isOpen && (
        <button type="button" className="scrim" aria-label="Close the navigation" onClick={() => setOpen(false)} />
      )}
      <Sidebar
        isOpen={isOpen}
        onPalette={openPalette}
        onHelp={openHelp}
        onSignOut={() => void leave()}
        onNavigate={() => setOpen(false)}
      />
      <main className="content" id="content" tabIndex={-1}>
        <ConnectionNotice />
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
      <Suspense fallback={null}>
        {overlay === 'palette' && (
          <Palette text={text} onText={setText} onClose={close} onSignOut={() => void leave()} />
        )}
        {overlay === 'help' && <ShortcutHelp onClose={close} />}
      </Suspense>
    </div>
  );
}

/** Adds letters that are typed before the field of the palette has the focus, so that none is lost. */
function useEarlyLetters(isOn: boolean, setText: (change: (text: string) => string) => void): void {
  useEffect(() => {
    if (!isOn) return;
    const onKey = (event: KeyboardEvent) => {
      const isLetter = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
      const isInField = event.target instanceof HTMLElement && event.target.closest('[role=dialog] input') !== null;
      if (!isLetter || isInField) return;
      event.preventDefault();
      event.stopPropagation();
      setText((text) => text + event.key);
    };
    document.addEventListener('keydown', onKey, true);
    return () => document.removeEventListener('keydown', onKey, true);
  }, [isOn, setText]);
}
