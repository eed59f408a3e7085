import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import { apiUrl } from '../api/client.ts';
import { modelsQuery } from '../api/queries.ts';
import { useIsAdmin } from '../shell/use-session.ts';
import { Code } from '../ui/copy-button.tsx';
import { Panel } from '../ui/page.tsx';

/** Shown until the first request. The page notices the request by itself. */
export function FirstRun(): JSX.Element {
  const isAdmin = useIsAdmin();
  const models = useQuery(modelsQuery).data?.data;
  const pricing = models?.flatMap((model) =>
    model.id === 'simulator/echo' && 'pricing' in model ? [model.pricing] : [],
  )[0];
  const isFree = pricing !== undefined && Object.values(pricing).every((price) => Number(price) === 0);
  const base = apiUrl('/api/v1').href;
  return (
    <Panel title="Send the first request">
      <ol className="steps">
        <li>
          <h3>Get a key</h3>
          <p className="soft">
            {isAdmin ? (
              <>
                Your management key cannot send requests to models. <Link to="/keys">Create a key</Link> with a limit.
              </>
            ) : (
              'Use the key that you signed in with.'
            )}
          </p>
          <Code text="export HEADGATE_KEY=sk-…" />
        </li>
        <li>
          <h3>Send a request</h3>
          <p className="soft">
            The built-in simulator responds, so this works at once without a provider{isFree && ' and costs nothing'}.
          </p>
          <Code
            text={`curl ${base}/responses \\\n  -H "Authorization: Bearer $HEADGATE_KEY" -H 'Content-Type: application/json' \\\n  -d '{"model": "simulator/echo", "input": "Hello"}'`}
          />
        </li>
        <li>
          <h3>Or point a client at the gateway</h3>
          <Code
            text={`from openai import OpenAI\n\nclient = OpenAI(base_url="${base}", api_key=os.environ["HEADGATE_KEY"])\nclient.responses.create(model="simulator/echo", input="Hello")`}
          />
        </li>
        <li>
          <h3>See it here</h3>
          <output className="soft">
            This page waits for the first request, and then shows what happens. <Link to="/requests">Requests</Link>{' '}
            shows it as soon as it ends, also if it failed.
          </output>
        </li>
      </ol>
    </Panel>
  );
}
