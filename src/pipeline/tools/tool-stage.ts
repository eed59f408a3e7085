import type { StageRecord } from '../../domain/router-metadata.ts';
import type { OfferedServerTool } from '../run/server-tools.ts';

/** Maximum number of listed calls. */
const MAX_LISTED = 100;

/** The stage of the server tools of a run. It grows until the run ends. @see docs/reference/router-metadata.md#stages */
export class ToolStage {
  private readonly calls: { tool: string; duration_ms: number; error?: string; adjusted?: readonly string[] }[] = [];
  private readonly data: Record<string, unknown>;

  constructor(stages: StageRecord[], offered: ReadonlyMap<string, OfferedServerTool>) {
    const tools = [...new Set([...offered.values()].map(({ tool }) => tool.type))];
    this.data = { mode: 'sdk', tools, steps: 0, calls: this.calls };
    stages.push({ type: 'server_tools', name: 'server-tools', data: this.data });
  }

  /**
   * @param steps calls so far
   * @param reason why the model gets only one more turn, or none; undefined: it decides
   */
  note(steps: number, reason: string | undefined): void {
    this.data['steps'] = steps;
    if (reason !== undefined) this.data['stop_reason'] = reason;
  }

  /**
   * Adds a call that has ended.
   *
   * @param ended `adjustments`: settings that were changed or left out
   */
  addCall(
    tool: string,
    durationMs: number,
    { error, adjustments }: { error: string | undefined; adjustments: readonly string[] | undefined },
  ): void {
    if (this.calls.length === MAX_LISTED) return;
    this.calls.push({
      tool,
      duration_ms: Math.round(durationMs),
      ...(error !== undefined && { error }),
      ...(adjustments && { adjusted: adjustments }),
    });
  }
}
