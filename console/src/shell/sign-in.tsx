import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type JSX, useEffect, useRef, useState } from 'react';
import { ApiError } from '../api/client.ts';
import { type Credential, sessionQuery, signIn } from '../api/session.ts';
import { Icon } from '../ui/icon.tsx';

/** Takes the token of a link that works once out of the URL, so that it is in no history. */
function takeToken(): string | null {
  if (!location.hash.startsWith('#token=')) return null;
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  history.replaceState(history.state, '', location.pathname + location.search);
  return token;
}

const messages: Record<number, string> = {
  401: 'The gateway does not know this key. Check that it is complete, and that it is neither disabled nor expired.',
  429: 'There were too many attempts. Wait a minute and try again.',
};

/** Asks for a key. It stays at the URL that was opened, so that the page appears after the sign-in. */
export function SignIn({ onSignedIn }: { onSignedIn?: () => void }): JSX.Element {
  const client = useQueryClient();
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const started = useRef(false);

  async function submit(credential: Credential): Promise<void> {
    setBusy(true);
    setError(undefined);
    try {
      const session = await signIn(credential);
      client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
      client.setQueryData(sessionQuery.queryKey, session);
      onSignedIn?.();
    } catch (cause) {
      const isKnown = cause instanceof ApiError && !('token' in credential && cause.status === 401);
      setError(
        isKnown
          ? (messages[cause.status] ?? cause.message)
          : 'This link no longer works. Each link works once. Create another one with “headgate console”, or sign in with a key.',
      );
      setBusy(false);
    }
  }

  useEffect(() => {
    document.title = 'Sign in · Headgate';
    if (started.current) return;
    started.current = true;
    const token = takeToken();
    if (token !== null) void submit({ token });
  });

  function onSubmit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get('key') ?? '').trim();
    if (key === '') setError('Enter a key.');
    else void submit({ key });
  }

  return (
    <main className="sign-in">
      <form onSubmit={onSubmit} aria-labelledby="sign-in-title">
        <div className="brand">
          <img src={new URL('icon.svg', document.baseURI).href} alt="" />
          Headgate
        </div>
        <div>
          <h1 id="sign-in-title">Sign in</h1>
          <p className="soft">
            A management key sees everything. An inference key sees the requests and the spending of its workspace, and
            its own limits.
          </p>
        </div>
        <label className="field">
          Key
          <input
            className="input mono"
            name="key"
            type="password"
            autoComplete="current-password"
            spellCheck={false}
            // biome-ignore lint/a11y/noAutofocus: the page has one field
            autoFocus
          />
        </label>
        {error !== undefined && (
          <p className="notice bad" role="alert">
            <Icon name="failed" /> <span>{error}</span>
          </p>
        )}
        <button type="submit" className="button primary" disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
        <p className="soft">
          On the host of the gateway, <code>headgate console</code> prints a link that signs you in.
        </p>
      </form>
    </main>
  );
}
