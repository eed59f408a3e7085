import type { JSX } from 'react';
import type { Stage, ToolCall } from '../api/types.ts';
import { formatDuration } from '../logic/numbers.ts';
import { Panel } from '../ui/page.tsx';
import { Status } from '../ui/status.tsx';
import { Absent, Money } from '../ui/values.tsx';
import { numeric, TableHead } from '../ui/table-head.tsx';

/** The calls of server tools that the gateway ran. */
export function Tools({ calls }: { calls: readonly ToolCall[] }): JSX.Element | null {
  if (calls.length === 0) return null;
  return (
    <Panel title={`Tool calls (${calls.length})`} padded={false}>
      <table>
        <TableHead columns={['Tool', 'Outcome', 'Step', numeric('Started after'), numeric('Duration')]} />
        <tbody>
          {calls.map(({ tool, outcome, step, start_ms, duration_ms }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: calls have no other name
            <tr key={at}>
              <td className="mono">{tool ?? <Absent />}</td>
              <td>
                <Status tone={outcome === 'ok' ? 'good' : 'bad'}>{outcome}</Status>
              </td>
              <td>{step}</td>
              <td className="number">{formatDuration(start_ms)}</td>
              <td className="number">{formatDuration(duration_ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

/** The stages of guardrails and plugins that checked or changed the request. */
export function Stages({ stages }: { stages: readonly Stage[] }): JSX.Element | null {
  if (stages.length === 0) return null;
  return (
    <Panel title={`Guardrails and plugins (${stages.length})`} padded={false}>
      <table>
        <TableHead columns={['Stage', 'Type', 'Summary', numeric('Cost')]} />
        <tbody>
          {stages.map(({ name, type, summary, guardrail_id, guardrail_scope, data, cost_usd }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a stage can occur several times
            <tr key={at}>
              <td>
                {name}
                {guardrail_id !== undefined && (
                  <div className="soft mono">
                    {guardrail_id} {guardrail_scope}
                  </div>
                )}
              </td>
              <td>{type}</td>
              <td className="wrap-cell">
                {summary ?? <Absent />}
                {data !== undefined && <div className="soft mono">{JSON.stringify(data)}</div>}
              </td>
              <td className="number">{cost_usd === undefined ? <Absent /> : <Money amount={cost_usd} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
