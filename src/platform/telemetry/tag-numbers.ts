import type { LedgerEntry } from '../../domain/ledger-entry.ts';
import type { Labels, MetricFamily } from './exposition.ts';

/** Maximum number of values of a tag. All others are counted as `other`, because clients can invent values. */
const MAX_VALUES = 100;

/** The numbers of one value of a tag. */
interface TagSums {
  labels: Labels;
  responses: number;
  inputTokens: number;
  outputTokens: number;
  costNanoUsd: number;
}

/** Sums costs, tokens and responses by tag. @see docs/guides/observability.md#tags */
export class TagNumbers {
  /** By key, then by value. The keys are those of the configuration. */
  private readonly all = new Map<string, Map<string, TagSums>>();

  /** @param isInner whether the gateway itself made the request, as part of a request that is counted */
  count({ tags, inputTokens, outputTokens, costNanoUsd }: LedgerEntry, isInner: boolean): void {
    if (!tags) return;
    for (const key in tags) {
      const sums = this.find(key, tags[key]!);
      if (!isInner) sums.responses++;
      sums.inputTokens += inputTokens;
      sums.outputTokens += outputTokens;
      sums.costNanoUsd += Number(costNanoUsd);
    }
  }

  collect(): MetricFamily[] {
    const used = [...this.all.values()].flatMap((values) => [...values.values()]);
    if (used.length === 0) return [];
    return [
      {
        name: 'headgate_tag_responses_total',
        help: 'Requests to models by tag.',
        type: 'counter',
        samples: used.map(({ labels, responses }) => ({ labels, value: responses })),
      },
      {
        name: 'headgate_tag_tokens_total',
        help: 'Tokens by tag.',
        type: 'counter',
        samples: used.flatMap(({ labels, inputTokens, outputTokens }) => [
          { labels: { ...labels, kind: 'input' }, value: inputTokens },
          { labels: { ...labels, kind: 'output' }, value: outputTokens },
        ]),
      },
      {
        name: 'headgate_tag_cost_usd_total',
        help: 'Cost by tag, in US dollars.',
        type: 'counter',
        samples: used.map(({ labels, costNanoUsd }) => ({ labels, value: costNanoUsd / 1e9 })),
      },
    ];
  }

  private find(key: string, value: string): TagSums {
    const values = this.all.get(key) ?? new Map<string, TagSums>();
    this.all.set(key, values);
    return values.get(value) ?? this.add(values, key, values.size < MAX_VALUES ? value : 'other');
  }

  private add(values: Map<string, TagSums>, tag: string, value: string): TagSums {
    let sums = values.get(value);
    if (!sums) {
      sums = { labels: { tag, value }, responses: 0, inputTokens: 0, outputTokens: 0, costNanoUsd: 0 };
      values.set(value, sums);
    }
    return sums;
  }
}
