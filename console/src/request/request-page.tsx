import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useCanGoBack, useRouter } from '@tanstack/react-router';
import { type JSX, useEffect } from 'react';
import { call } from '../api/client.ts';
import type { Generation } from '../api/types.ts';
import { formatCount, formatDuration } from '../logic/numbers.ts';
import { formatFullTime } from '../logic/time.ts';
import { useNames } from '../requests/use-names.ts';
import { isTyping } from '../shell/use-shortcuts.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Page, Panel } from '../ui/page.tsx';
import { Loaded } from '../ui/states.tsx';
import { Outcome } from '../ui/status.tsx';
import { Money } from '../ui/values.tsx';
import { Attempts } from './attempts.tsx';
import { Contents } from './contents.tsx';
import { Costs, Usage } from './costs.tsx';
import { Facts } from './facts.tsx';
import { Stages, Tools } from './stages.tsx';
import { Timeline } from './timeline.tsx';
import './request.css';

const route = getRouteApi('/requests/$id');

/** Everything that the gateway knows about one request. */
export function RequestPage(): JSX.Element {
  const { id } = route.useParams();
  const result = useQuery({
    queryKey: ['generation', id],
    queryFn: ({ signal }) => call('get', '/api/v1/generation', { query: { id }, signal }),
  });
  return (
    <Page title="Request" actions={<Head id={id} />}>
      <Loaded result={result}>{({ data }) => <RequestParts entry={data} />}</Loaded>
    </Page>
  );
}

function Head({ id }: { id: string }): JSX.Element {
  const router = useRouter();
  const canGoBack = useCanGoBack();
  useEffect(() => {
    const leave = () => (canGoBack ? router.history.back() : void router.navigate({ to: '/requests' }));
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !event.defaultPrevented && !isTyping(event)) leave();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [canGoBack, router]);
  return (
    <>
      <code className="wrap">{id}</code>
      <CopyButton text={id} label="Copy id" />
      <button
        type="button"
        className="button spread"
        onClick={() => (canGoBack ? router.history.back() : void router.navigate({ to: '/requests' }))}
      >
        <Icon name="back" /> Requests
      </button>
    </>
  );
}

function RequestParts({ entry }: { entry: Generation }): JSX.Element {
  const names = useNames();
  return (
    <>
      <dl className="summary">
        <Tile label="Status">
          <Outcome entry={entry} />
        </Tile>
        <Tile label="Model" isWide>
          {entry.model ?? entry.requested_model ?? 'none'}
        </Tile>
        <Tile label="Provider">{entry.provider_name ?? 'none'}</Tile>
        <Tile label="Cost">
          <Money amount={entry.total_cost} />
        </Tile>
        <Tile label="Duration">{entry.generation_time === null ? '–' : formatDuration(entry.generation_time)}</Tile>
        <Tile label="First output">{entry.latency === null ? '–' : formatDuration(entry.latency)}</Tile>
        <Tile label="Tokens in / out">
          {formatCount(entry.native_tokens_prompt ?? 0)} / {formatCount(entry.native_tokens_completion ?? 0)}
        </Tile>
      </dl>
      {entry.error_type !== null && (
        <div className={entry.outcome === 'cancelled' ? 'notice warn' : 'notice bad'}>
          <Icon name="failed" />
          <strong>{entry.error_type}</strong>
          <span className="wrap">{entry.error_message ?? 'No message was recorded.'}</span>
        </div>
      )}
      {entry.rejected_route !== null && (
        <p className="notice warn">
          <Icon name="warning" />
          <span>
            The gateway rejected this request to <code>{entry.rejected_route}</code> before it reached a provider.
            {entry.omitted_requests > 0 &&
              ` It rejected ${formatCount(entry.omitted_requests)} more of the same key in that minute, which have no record.`}
          </span>
        </p>
      )}
      <Timeline entry={entry} />
      <Attempts entry={entry} />
      <Tools calls={entry.tool_calls} />
      <Stages stages={entry.pipeline} />
      <div className="columns">
        <Costs entry={entry} />
        <Usage entry={entry} />
      </div>
      <Contents entry={entry} />
      <Panel title="Details">
        <Facts entry={entry} names={names} time={formatFullTime(entry.created_at)} />
      </Panel>
    </>
  );
}

function Tile({
  label,
  isWide,
  children,
}: {
  label: string;
  isWide?: boolean;
  children: React.ReactNode;
}): JSX.Element {
  return (
    <div className={isWide ? 'wide' : undefined}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
