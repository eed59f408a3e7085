import type { Caller } from '../../domain/caller.ts';
import type { LedgerEntry } from '../../domain/ledger-entry.ts';
import type { Labels, MetricFamily } from './exposition.ts';

/** The part of a caller that the labels name: `server.metrics_callers`. */
export type CallerLabels = 'none' | 'workspace' | 'key';

/**
 * Maximum number of workspaces or keys. All others are counted as one. Without a bound, labels of keys fill the memory of
 * the process and of Prometheus.
 *
 * @see https://github.com/BerriAI/litellm/issues/12159
 */
const MAX_CALLERS = 1000;
const tokenKinds = ['input', 'output'] as const;

/** The numbers of one workspace or key. */
class Numbers {
  readonly labels: Labels;
  /** By status. */
  readonly responses = new Map<string, number>();
  readonly tokens = new Float64Array(tokenKinds.length);
  costNanoUsd = 0;

  constructor(labels: Labels) {
    this.labels = labels;
  }
}

/** Sums costs, tokens and responses of workspaces or keys. @see docs/guides/observability.md */
export class CallerNumbers {
  private readonly named: CallerLabels;
  private readonly known = new WeakMap<Caller, Numbers>();
  private readonly all = new Map<string, Numbers>();
  private readonly others: Numbers;

  constructor(named: CallerLabels) {
    this.named = named;
    this.others = new Numbers(this.writeLabels('other', 'other', 'other', 'other'));
  }

  /** @param status of the response; undefined: the gateway itself made the request, as part of a request that is counted */
  count(caller: Caller, entry: LedgerEntry, status: string | undefined): void {
    if (this.named === 'none') return;
    const numbers = this.known.get(caller) ?? this.meet(caller);
    const { responses, tokens } = numbers;
    tokens[0]! += entry.inputTokens;
    tokens[1]! += entry.outputTokens;
    numbers.costNanoUsd += Number(entry.costNanoUsd);
    if (status !== undefined) responses.set(status, (responses.get(status) ?? 0) + 1);
  }

  collect(): MetricFamily[] {
    if (this.named === 'none') return [];
    const used = [...this.all.values(), this.others];
    return [
      {
        name: 'headgate_caller_responses_total',
        help: 'Requests to models by the caller and the final status.',
        type: 'counter',
        samples: used.flatMap(({ labels, responses }) =>
          [...responses].map(([status, value]) => ({ labels: { ...labels, status }, value })),
        ),
      },
      {
        name: 'headgate_caller_tokens_total',
        help: 'Tokens of callers.',
        type: 'counter',
        samples: used.flatMap(({ labels, tokens }) =>
          tokenKinds.flatMap((kind, at) =>
            tokens[at]! > 0 ? [{ labels: { ...labels, kind }, value: tokens[at]! }] : [],
          ),
        ),
      },
      {
        name: 'headgate_caller_cost_usd_total',
        help: 'Cost of callers, in US dollars.',
        type: 'counter',
        samples: used.flatMap(({ labels, costNanoUsd }) =>
          costNanoUsd > 0 ? [{ labels, value: costNanoUsd / 1e9 }] : [],
        ),
      },
    ];
  }

  private meet(caller: Caller): Numbers {
    const { workspaceId, workspaceName = '', keyHash, keyName } = caller;
    const labels = this.writeLabels(workspaceId, workspaceName, keyHash.slice(0, 12), keyName);
    const name = JSON.stringify(labels);
    let numbers = this.all.get(name);
    if (!numbers && this.all.size < MAX_CALLERS) {
      numbers = new Numbers(labels);
      this.all.set(name, numbers);
    }
    numbers ??= this.others;
    this.known.set(caller, numbers);
    return numbers;
  }

  private writeLabels(workspace: string, workspaceName: string, keyHash: string, keyName: string): Labels {
    const labels = { workspace, workspace_name: workspaceName };
    return this.named === 'key' ? { ...labels, key_hash: keyHash, key_name: keyName } : labels;
  }
}
