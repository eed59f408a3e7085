import type { JSX, ReactNode } from 'react';
import type { Generation } from '../api/types.ts';
import { sumNano, toNano } from '../logic/money.ts';
import { formatCount } from '../logic/numbers.ts';
import { Panel } from '../ui/page.tsx';
import { Money } from '../ui/values.tsx';

/** The lines of the cost: attempts that used something, charges, and corrections that were recorded later. */
export function Costs({ entry }: { entry: Generation }): JSX.Element {
  const lines = [
    ...entry.attempts
      .filter(
        ({ total_cost, tokens_prompt, tokens_completion }) => total_cost !== 0 || tokens_prompt + tokens_completion > 0,
      )
      .map(({ provider_name, model, total_cost }) => ({
        label: `${model ?? ''} at ${provider_name ?? ''}`,
        cost: total_cost,
      })),
    ...entry.charges.map(({ name, service, total_cost }) => ({
      label: [name, service].filter(Boolean).join(', ') || 'charge',
      cost: total_cost,
    })),
  ];
  const sum = sumNano(lines.map(({ cost }) => toNano(cost ?? 0)));
  const correction = entry.total_cost === null || lines.length === 0 ? 0n : toNano(entry.total_cost) - sum;
  return (
    <Panel title="Cost" padded={false}>
      <table>
        <tbody>
          {lines.map(({ label, cost }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
            <Line key={at} label={label}>
              <Money amount={cost} />
            </Line>
          ))}
          {correction !== 0n && (
            <Line label="Other parts and corrections">
              <Money amount={correction} />
            </Line>
          )}
        </tbody>
        <tfoot>
          <Line label={entry.is_byok ? 'Total, with your own provider key' : 'Total'}>
            <Money amount={entry.total_cost} />
          </Line>
        </tfoot>
      </table>
    </Panel>
  );
}

/** The tokens of a request, and the other things that have a price. */
export function Usage({ entry }: { entry: Generation }): JSX.Element {
  const counts: [string, number | null][] = [
    ['Input tokens', entry.native_tokens_prompt],
    ['Input tokens from a cache', entry.native_tokens_cached],
    ['Output tokens', entry.native_tokens_completion],
    ['Reasoning tokens', entry.native_tokens_reasoning],
    ['Output tokens of images', entry.native_tokens_completion_images],
    ['Files and images in the input', entry.num_media_prompt],
    ['Images in the output', entry.num_media_completion],
  ];
  return (
    <Panel title="Usage" padded={false} aside={entry.usage_estimated && <span className="soft">estimated</span>}>
      <table>
        <tbody>
          {counts
            .filter(([, value], at) => at === 0 || at === 2 || (value ?? 0) > 0)
            .map(([label, value]) => (
              <Line key={label} label={label}>
                {value === null ? '–' : formatCount(value)}
              </Line>
            ))}
        </tbody>
      </table>
    </Panel>
  );
}

function Line({ label, children }: { label: string; children: ReactNode }): JSX.Element {
  return (
    <tr>
      <th scope="row">{label}</th>
      <td className="number">{children}</td>
    </tr>
  );
}
