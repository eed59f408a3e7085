import { Type } from 'typebox';
import { byteField, countField, milliseconds, optionalMilliseconds, textField } from './fields.ts';

const toolNames = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { description, maxItems: 1000 }));

const mcpServer = Type.Object({
  url: Type.Optional(
    Type.String({
      description: 'URL of a server with streamable HTTP: `https://mcp.example.com/mcp`. Exclusive with `command`.',
      pattern: '^https?://[^/?#@\\s]+(/[^#\\s]*)?$',
      says: 'must be an http or https URL without credentials and fragment',
    }),
  ),
  headers: Type.Optional(
    Type.Record(Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_|~-]+$" }), Type.String(), {
      description: 'With `url`: headers of every request to the server, for example a key.',
      secret: true,
    }),
  ),
  command: Type.Optional(
    textField(
      'Program of a server that communicates over its standard input and output. Each gateway process starts it at its first use.',
    ),
  ),
  args: Type.Optional(Type.Array(Type.String(), { description: 'With `command`: its arguments.', maxItems: 1000 })),
  env: Type.Optional(
    Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), Type.String(), {
      description: 'With `command`: its environment. It gets no other variable of the gateway than `PATH`.',
      secret: true,
    }),
  ),
  cwd: Type.Optional(textField('With `command`: its working directory. Absent: that of the gateway.')),
  workspaces: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description: 'Names or ids of the workspaces that may use the server. Absent: all.',
      maxItems: 1000,
    }),
  ),
  allowed_tools: toolNames('Names of the tools that models may use. Absent: all. A request may choose fewer.'),
  require_approval: Type.Enum(['always', 'never'], {
    description: 'Whether the caller approves each call. `require_approval` of a request replaces it.',
    default: 'always',
  }),
  description: Type.Optional(textField('Description of the server, for the model.')),
  timeout_ms: optionalMilliseconds('Overrides `mcp.timeout_ms`.'),
});

export const mcpSection = Type.Object({
  servers: Type.Record(Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }), mcpServer, {
    description: 'MCP servers of the operator, by the `server_label` of requests.',
    default: {},
  }),
  caller_servers: Type.Boolean({
    description: 'Whether requests may name the URL of an MCP server. The rules of `outbound` apply to it.',
    default: true,
  }),
  max_servers: countField('Maximum number of MCP servers of one request.', 8, 100),
  max_tools: countField('Maximum number of MCP tools that the model sees in one request.', 128, 1000),
  max_bytes: byteField('Maximum size of one response of an MCP server.', 4_194_304),
  timeout_ms: milliseconds('Timeout of one call.', 60_000),
  connect_ms: milliseconds('Timeout of the handshake with a server, and of a listing.', 10_000),
  idle_ms: milliseconds('A session that is not used for this long is closed, and its process is stopped.', 300_000),
  max_sessions: countField(
    'Maximum number of sessions in each gateway process. The one that is idle longest is closed first.',
    100,
    10_000,
  ),
  parallel: countField('Maximum number of listings and calls at the same time, in each gateway process.', 64, 1000),
});
