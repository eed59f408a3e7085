import { type JSX, useState } from 'react';
import { apiUrl } from '../api/client.ts';
import { writeCall } from '../logic/commands.ts';
import { Code } from './copy-button.tsx';

/** The equal call of the API and the equal command of a form. */
export function Teach({
  method,
  path,
  body,
  cli,
}: {
  method: string;
  /** The path of the route, such as `/api/v1/keys`. */
  path: string;
  body?: unknown;
  cli: string;
}): JSX.Element {
  const [shown, setShown] = useState<'curl' | 'cli'>('curl');
  return (
    <details>
      <summary>The same as a command</summary>
      <div style={{ display: 'grid', gap: 8, paddingTop: 10 }}>
        <fieldset className="segments" aria-label="Form of the command">
          <button type="button" aria-pressed={shown === 'curl'} onClick={() => setShown('curl')}>
            API
          </button>
          <button type="button" aria-pressed={shown === 'cli'} onClick={() => setShown('cli')}>
            Command line
          </button>
        </fieldset>
        <Code text={shown === 'curl' ? writeCall(method, apiUrl(path).href, body) : cli} />
      </div>
    </details>
  );
}
