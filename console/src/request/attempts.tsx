import { Fragment, type JSX } from 'react';
import type { Attempt, Generation } from '../api/types.ts';
import { formatCount, formatDuration } from '../logic/numbers.ts';
import { Panel } from '../ui/page.tsx';
import { Status } from '../ui/status.tsx';
import { Absent, Money } from '../ui/values.tsx';

/** Each try on an endpoint, in order, with the provider's message. */
export function Attempts({ entry }: { entry: Generation }): JSX.Element | null {
  const { attempts, history_omitted } = entry;
  if (attempts.length === 0) return null;
  const hasSteps = attempts.some(({ step }) => step > 1);
  const hasKeys = attempts.some(({ provider_key }) => provider_key !== null);
  return (
    <Panel
      title={attempts.length === 1 ? 'Attempt' : `Attempts (${attempts.length})`}
      padded={false}
      aside={history_omitted !== null && <span className="soft">A long history: some records were left out.</span>}
    >
      <table>
        <thead>
          <tr>
            <th scope="col">#</th>
            {hasSteps && <th scope="col">Step</th>}
            <th scope="col">Status</th>
            <th scope="col">Provider</th>
            <th scope="col">Model</th>
            {hasKeys && <th scope="col">Provider key</th>}
            <th scope="col" className="number">
              Started after
            </th>
            <th scope="col" className="number">
              First output
            </th>
            <th scope="col" className="number">
              Duration
            </th>
            <th scope="col" className="number">
              In / out
            </th>
            <th scope="col" className="number">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {attempts.map((attempt, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the number of an attempt is its index
            <Fragment key={at}>
              <tr className={hasMessage(attempt) ? 'continued' : undefined}>
                <td>{at + 1}</td>
                {hasSteps && <td>{attempt.step}</td>}
                <td>
                  <Status tone={attempt.status < 400 ? 'good' : 'bad'}>{attempt.status}</Status>
                </td>
                <td>
                  {attempt.provider_name ?? <Absent />}
                  {attempt.is_byok && <span className="soft"> own key</span>}
                </td>
                <td>{attempt.model ?? <Absent />}</td>
                {hasKeys && <td>{attempt.provider_key ?? <Absent />}</td>}
                <Ms value={attempt.start_ms} />
                <Ms value={attempt.first_byte_ms} />
                <Ms value={attempt.duration_ms} />
                <td className="number">
                  {formatCount(attempt.tokens_prompt)} / {formatCount(attempt.tokens_completion)}
                </td>
                <td className="number">
                  <Money amount={attempt.total_cost} />
                </td>
              </tr>
              {hasMessage(attempt) && <MessageRow attempt={attempt} span={9 + Number(hasSteps) + Number(hasKeys)} />}
            </Fragment>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

const hasMessage = ({ error_type, error_message, upstream_request_id }: Attempt): boolean =>
  error_type !== null || error_message !== null || upstream_request_id !== null;

/** What the provider said, below its attempt. */
function MessageRow({ attempt, span }: { attempt: Attempt; span: number }): JSX.Element {
  const { error_type, error_message, upstream_request_id } = attempt;
  return (
    <tr>
      <td />
      <td colSpan={span - 1} className="message-cell">
        {error_type !== null && <strong className="bad">{error_type} </strong>}
        {error_message}
        {upstream_request_id !== null && <span className="soft"> Request of the provider: {upstream_request_id}</span>}
      </td>
    </tr>
  );
}

function Ms({ value }: { value: number | null }): JSX.Element {
  return <td className="number">{value === null ? <Absent /> : formatDuration(value)}</td>;
}
