import { type FunctionTool, type GatewayTool, isServerTool, type Tool } from '../../domain/items.ts';
import type { ServerTool } from '../../tools/server-tool.ts';
import type { Run } from '../run/run.ts';

/** The server tools of a request that its client runs: the model sees functions, and the client gets their calls. */
export class ReturnedTools {
  /** The functions, by the entries of the request. */
  private readonly functions = new Map<Tool, FunctionTool>();
  /** The names of the functions, by the types of the tools. */
  readonly byType = new Map<string, string>();

  /** @param run one that serves another has no client, so the gateway runs its tools. choice 519 */
  constructor({ parent }: Run, named: readonly Tool[], tools: ReadonlyMap<string, ServerTool>) {
    if (parent) return;
    for (const entry of named) {
      if (!isServerTool(entry)) continue;
      const { parameters: given = {} } = entry as GatewayTool;
      const tool = tools.get(entry.type);
      const name = tool?.clientName(given);
      if (!tool || name === undefined) continue;
      const { description, arguments: parameters } = tool.show(given);
      this.functions.set(entry, { type: 'function', name, description, parameters, strict: false });
      this.byType.set(entry.type, name);
    }
  }

  get names(): readonly string[] {
    return [...this.byType.values()];
  }

  /** @returns undefined if the gateway runs the tool */
  nameOf(entry: Tool): string | undefined {
    return this.functions.get(entry)?.name;
  }

  /** @returns undefined if the gateway runs the tool */
  show(entry: Tool): FunctionTool | undefined {
    return this.functions.get(entry);
  }
}
