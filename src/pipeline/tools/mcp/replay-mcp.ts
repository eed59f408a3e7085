import type { InputItem, OutputItem } from '../../../domain/items.ts';
import { nameMcpFunction } from './name-function.ts';

/** The input for a model from an MCP item: a call and its result, or nothing, with or without a loss. */
export type ReplayedMcpItem =
  | { readonly name: string; readonly arguments: string; readonly result: object; readonly callId: string | undefined }
  | 'nothing'
  | 'lost'
  | 'lost reason';

/** Translates the MCP items of an input that no provider sent or that a provider cannot read. */
export class McpReplay {
  private readonly isOurs: (label: string) => boolean;
  private readonly isOffered: (label: string) => boolean;
  private readonly responses = new Map<unknown, { approve: unknown; reason: unknown }>();
  private readonly requests = new Map<unknown, unknown>();
  /** Requests whose call the input shows. */
  private readonly called = new Set<unknown>();

  /**
   * @param isOurs whether the items of this server are translated; others pass unchanged
   * @param isOffered whether the request offers the tools of this server
   */
  constructor(input: readonly InputItem[], isOurs: (label: string) => boolean, isOffered: (label: string) => boolean) {
    this.isOurs = isOurs;
    this.isOffered = isOffered;
    for (const item of input as readonly OutputItem[]) {
      const { type, id, call_id: callId } = item;
      if (type === 'mcp_approval_request') this.requests.set(id, item['server_label']);
      if (type === 'mcp_approval_response') {
        const { approve, reason } = item;
        this.responses.set(item['approval_request_id'], { approve, reason });
      }
      if (type === 'mcp_call') this.called.add(item['approval_request_id']);
      if (type === 'function_call') this.called.add(callId); // of a call that has just run
    }
  }

  /** @returns undefined if the item passes unchanged */
  translate(item: OutputItem): ReplayedMcpItem | undefined {
    const { type, id, server_label: label } = item;
    if (type === 'mcp_approval_response') {
      const asked = this.requests.get(item['approval_request_id']);
      if (typeof asked !== 'string' || !this.isOurs(asked)) return undefined;
      return item['reason'] && this.called.has(item['approval_request_id']) ? 'lost reason' : 'nothing';
    }
    if (typeof label !== 'string' || !this.isOurs(label)) return undefined;
    switch (type) {
      case 'mcp_list_tools':
        return this.isOffered(label) ? 'nothing' : 'lost';
      case 'mcp_approval_request':
        return this.called.has(id) ? 'nothing' : { ...readCall(item, label), result: this.explainRequest(id) };
      case 'mcp_call':
        return { ...readCall(item, label), result: readResult(item) };
      default:
        return undefined;
    }
  }

  /** The result of a call that has not run. */
  private explainRequest(id: unknown): object {
    const response = this.responses.get(id);
    if (!response) return { error: 'The user has not decided about this call.' };
    const { approve, reason } = response;
    const decision = approve === true ? 'The user has approved this call, but it has not run.' : rejection;
    return { error: typeof reason === 'string' && reason !== '' ? `${decision} ${reason}` : decision };
  }
}

const rejection = 'The user has rejected this call.';

function readCall({ name, arguments: written, id }: OutputItem, label: string) {
  return {
    name: nameMcpFunction(label, String(name)),
    arguments: typeof written === 'string' && written !== '' ? written : '{}',
    callId: typeof id === 'string' ? `call_${id}` : undefined,
  };
}

function readResult({ output, error }: OutputItem): object {
  if (error === null || error === undefined) return { output: typeof output === 'string' ? output : '' };
  if (typeof error === 'string') return { error };
  const { message, content } = error as { message?: unknown; content?: unknown };
  if (typeof message === 'string') return { error: message };
  const texts = Array.isArray(content) ? content.map((block: { text?: unknown } | null) => block?.text) : [];
  const text = texts.filter((each) => typeof each === 'string').join('\n');
  return { error: text !== '' ? text : (content ?? 'The tool failed.') };
}
