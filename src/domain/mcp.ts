/** A tool of an MCP server, as `mcp_list_tools` shows it. */
export interface McpTool {
  readonly name: string;
  readonly description?: string | null;
  readonly input_schema: Readonly<Record<string, unknown>>;
  readonly annotations?: unknown;
}

/** The result of a call. */
export interface McpResult {
  /** Blocks of text, images, audio and resources. */
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly structuredContent?: Readonly<Record<string, unknown>> | undefined;
  /** Whether the tool failed. `content` then says why. */
  readonly isError: boolean;
}

/**
 * `http`: the server responded with a status that is not a success. `protocol`: it sent an error, or nothing that MCP
 * allows. `blocked`: the gateway does not connect to the URL. `unavailable`: it cannot be reached, or was interrupted.
 * `timeout`: it did not respond in time. `limit`: a limit of the gateway was exceeded.
 */
export type McpFault = 'http' | 'protocol' | 'blocked' | 'unavailable' | 'timeout' | 'limit';

/** A failure of an MCP server. The message is for callers and models, and contains no text of headers. */
export class McpError extends Error {
  readonly fault: McpFault;
  /** HTTP status, or JSON-RPC code. Undefined: there is none. */
  readonly code: number | undefined;

  constructor(fault: McpFault, message: string, code?: number) {
    super(message);
    this.name = 'McpError';
    this.fault = fault;
    this.code = code;
  }
}

/** A server at a URL, and how to reach it. */
export interface HttpMcpServer {
  readonly type: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether a caller named the URL. The rules for outbound requests then apply. */
  readonly isCallers: boolean;
}

/** A server that the gateway starts as a process. They communicate over its standard input and output. */
export interface ProcessMcpServer {
  readonly type: 'process';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** An MCP server. */
export interface McpServer {
  /** For messages and logs. */
  readonly label: string;
  /** Owner of the sessions. Sessions are never shared by owners. */
  readonly owner: string;
  readonly target: HttpMcpServer | ProcessMcpServer;
  /** Time limit of one call. */
  readonly timeoutMs: number;
}

/** Lists and calls tools of MCP servers, over sessions that it keeps. */
export interface McpClient {
  /**
   * Lists all tools of a server.
   *
   * @throws {McpError} and the reason of the signal
   */
  listTools(server: McpServer, signal: AbortSignal): Promise<readonly McpTool[]>;
  /**
   * Calls a tool. A failure of the tool is a result.
   *
   * @throws {McpError} and the reason of the signal
   */
  callTool(
    server: McpServer,
    call: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> },
    signal: AbortSignal,
  ): Promise<McpResult>;
}

/** Tools that need no approval of the caller. The others need it. */
export type McpApproval = 'always' | 'never';

/** A server of the operator. */
export interface ConfiguredMcpServer {
  readonly server: McpServer;
  /** Ids of the workspaces that may use it. Undefined: all. */
  readonly workspaces: ReadonlySet<string> | undefined;
  /** Undefined: all. */
  readonly allowedTools: ReadonlySet<string> | undefined;
  readonly approval: McpApproval;
  readonly description: string | undefined;
}

/** The MCP servers that requests may use, and how to call them. */
export interface McpAccess {
  readonly client: McpClient;
  /** The servers of the operator, by label. */
  servers(): ReadonlyMap<string, ConfiguredMcpServer>;
  limits(): {
    /** Whether requests may name the URL of a server. */
    readonly callerServers: boolean;
    /** Maximum servers of one request. */
    readonly maxServers: number;
    readonly maxTools: number;
    /** Time limit of a call to a server that a caller names. */
    readonly timeoutMs: number;
  };
  /** Called when a server of the operator has failed. */
  report(failure: { server: string; tool?: string; fault: McpFault; code?: number }): void;
}
