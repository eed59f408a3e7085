import type { MetricFamily } from './exposition.ts';
import { Histogram } from './histogram.ts';
import type { ObservedToolCall } from './observed.ts';

/** Maximum number of tools. All others are counted as one. */
const MAX_TOOLS = 200;

/** The numbers of one tool. */
interface Numbers {
  readonly outcomes: Map<string, number>;
  readonly seconds: Histogram;
}

/** Calls that did not run. */
const notRun: ReadonlySet<string> = new Set(['unknown_tool', 'invalid_arguments', 'over_limit']);

/** Counts the calls of server tools. @see docs/guides/observability.md */
export class ToolNumbers {
  private readonly tools = new Map<string, Numbers>();

  count(calls: readonly ObservedToolCall[]): void {
    for (const { tool = 'none', outcome, startedAt, endedAt } of calls) {
      const { outcomes, seconds } = this.numbersOf(tool);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      if (!notRun.has(outcome)) seconds.observe((endedAt - startedAt) / 1000);
    }
  }

  collect(): MetricFamily[] {
    const all = [...this.tools];
    return [
      {
        name: 'headgate_tool_calls_total',
        help: 'Calls of server tools by outcome; unknown_tool, invalid_arguments and over_limit did not run.',
        type: 'counter',
        samples: all.flatMap(([tool, { outcomes }]) =>
          [...outcomes].map(([outcome, value]) => ({ labels: { tool, outcome }, value })),
        ),
      },
      {
        name: 'headgate_tool_call_seconds',
        help: 'Duration of the calls of server tools that ran.',
        type: 'histogram',
        samples: all.map(([tool, { seconds }]) => ({ labels: { tool }, value: seconds })),
      },
    ];
  }

  private numbersOf(tool: string): Numbers {
    const name = this.tools.has(tool) || this.tools.size < MAX_TOOLS ? tool : 'other';
    let numbers = this.tools.get(name);
    if (!numbers) {
      numbers = { outcomes: new Map(), seconds: new Histogram() };
      this.tools.set(name, numbers);
    }
    return numbers;
  }
}
