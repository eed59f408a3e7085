import type { McpAccess, McpError, McpResult, McpTool } from '../../../domain/mcp.ts';
import type { HostedForm, ServerTool, ToolOutcome } from '../../../tools/server-tool.ts';
import type { OfferedServerTool } from '../../run/server-tools.ts';
import type { McpEntry } from './read-entry.ts';
import { writeMcpResult } from './write-result.ts';

/** A tool of a server, as a request offers it. */
export interface McpOffer {
  readonly entry: McpEntry;
  readonly tool: McpTool;
  /** The function that the model sees. */
  readonly name: string;
  readonly description: string;
}

/** Time for the handshake of a session that was closed, in addition to the time limit of a call. */
const RECONNECT_MS = 15_000;

const types: HostedForm['types'] = new Set(['mcp']);
const readParameters: HostedForm['readParameters'] = () => undefined; // the entry has been read

const call: HostedForm = {
  types,
  readParameters,
  itemType: 'mcp_call',
  progress: { started: ['in_progress'], completed: ['completed'], failed: ['failed'] },
  omits: new Set(['call_id']),
  argumentsEvent: 'response.mcp_call_arguments',
  // The types of clients have only objects. Failures without a code, such as a time limit, are texts until here.
  writeFields: ({ error, ...fields }) => ({
    ...fields,
    error: typeof error === 'string' ? writeToolError(error) : (error ?? null),
  }),
};
const approval: HostedForm = {
  types,
  readParameters,
  itemType: 'mcp_approval_request',
  progress: { started: [], completed: [] },
  omits: new Set(['call_id', 'status']),
};

/** Creates a tool whose calls run at the server. @param approvalId of the request that the caller has approved */
export function offerCall(
  { entry, tool, name, description }: McpOffer,
  access: McpAccess,
  approvalId?: string,
): OfferedServerTool {
  const fields = {
    server_label: entry.label,
    name: tool.name,
    ...(approvalId !== undefined && { approval_request_id: approvalId }),
  };
  const server = entry.server!; // an entry without a server has no tools
  return offer(entry, name, {
    ...describeTool(tool, description),
    name,
    timeoutMs: server.timeoutMs + RECONNECT_MS,
    itemPrefix: 'mcp_',
    hosted: call,
    item: () => ({ ...fields, output: null, error: null }),
    async execute(input, _parameters, { signal, takesImages }) {
      const given = { name: tool.name, arguments: input as Record<string, unknown> }; // checked: a JSON object
      try {
        return writeOutcome(await access.client.callTool(server, given, signal), fields, takesImages);
      } catch (error) {
        if (!isMcpError(error)) throw error;
        const { fault, code } = error;
        if (entry.isConfigured)
          access.report({ server: entry.label, tool: tool.name, fault, ...(code !== undefined && { code }) });
        const { message } = error;
        return {
          result: { error: message },
          item: { ...fields, output: null, error: writeError(error) },
        };
      }
    },
  });
}

/** Creates a tool whose calls become requests for approval. They end the response. */
export const offerApproval = ({ entry, tool, name, description }: McpOffer): OfferedServerTool =>
  offer(entry, name, {
    ...describeTool(tool, description),
    name,
    timeoutMs: RECONNECT_MS,
    itemPrefix: 'mcpr_',
    hosted: approval,
    item: () => ({ server_label: entry.label, name: tool.name }),
    execute: () => ({ result: {}, item: { server_label: entry.label, name: tool.name }, endsResponse: true }),
  });

/** The item has the result without its images, because a later request sends it back as text. */
function writeOutcome(result: McpResult, fields: object, takesImages: boolean): ToolOutcome {
  const { text, images } = writeMcpResult(result, takesImages);
  const plain = images.length > 0 ? writeMcpResult(result, false).text : text;
  if (!result.isError) return { result: { output: text }, images, item: { ...fields, output: plain, error: null } };
  return { result: { error: text }, images, item: { ...fields, output: null, error: writeToolError(plain) } };
}

const writeToolError = (text: string): object => ({
  type: 'mcp_tool_execution_error',
  content: [{ type: 'text', text }],
});

/** Writes an error as the interface has it. @see docs/reference/items.md */
function writeError({ fault, code, message }: McpError): object | string {
  if (code === undefined) return message;
  return { type: fault === 'http' ? 'http_error' : 'mcp_protocol_error', code, message };
}

const isMcpError = (error: unknown): error is McpError => error instanceof Error && error.name === 'McpError';

const describeTool = (
  { input_schema: { $schema: _, ...schema } }: McpTool,
  description: string,
): Pick<ServerTool, 'show'> => ({
  show: () => ({ description, arguments: schema }),
});

type Own = Pick<ServerTool, 'name' | 'timeoutMs' | 'itemPrefix' | 'hosted' | 'item' | 'execute' | 'show'>;

const offer = ({ hosted, path }: McpEntry, name: string, own: Own): OfferedServerTool => ({
  tool: {
    ...own,
    type: 'router:mcp',
    isNested: true,
    maxItemBytes: undefined,
    writeFailure: (error) => ({ error }),
    checkEntries: undefined,
    checkParameters: () => [],
    prepare: undefined,
    clientName: () => undefined,
    checkArguments: () => undefined, // the server checks them
    replay: () => undefined, // replay-mcp.ts does it
    native: undefined,
    resume: undefined,
  },
  path,
  name,
  hosted,
  instance: 0,
  parameters: {},
  deferred: [],
  shared: { entries: 1, begun: 0, memory: {} },
});
