import { Type } from 'typebox';
import { milliseconds, textField } from './fields.ts';

export const internsSection = Type.Object({
  enabled: Type.Boolean({
    description: 'Whether the gateway has interns and vaults. If not, their routes are a 404, and none runs.',
    default: true,
  }),
  domain: Type.String({
    description:
      'Domain of the host names of interns: `<name>-<first 8 digits of the id>.<domain>`. It applies to interns that get their host name afterwards.',
    default: 'interns.localhost',
    pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$',
    says: 'must be a domain in lower case',
    maxLength: 200,
  }),
  runtime: textField(
    'The agent of interns: `builtin`, or a name in `runtimes`. It applies at their next start.',
    'builtin',
  ),
  runtimes: Type.Record(
    Type.String({ pattern: '^[a-z][a-z0-9_-]{0,63}$' }),
    Type.Object({
      command: Type.Array(Type.String({ minLength: 1 }), {
        description: 'The program in the sandbox and its arguments.',
        minItems: 1,
      }),
      files: Type.Array(Type.String({ minLength: 1 }), {
        description:
          'Files of the host that the agent needs. They are copied to `/tmp/headgate/files` before it starts.',
        default: [],
        maxItems: 100,
      }),
    }),
    { description: 'Agents of the operator, by name.', default: {} },
  ),
  allowed_domains: Type.Array(Type.String({ minLength: 1 }), {
    description:
      'Hosts that every intern can reach at the ports 80 and 443, besides those of its secrets: names and globs. `*`: every public host. A reload applies to running interns, and closes their connections to other hosts within a second.',
    default: [],
    maxItems: 1000,
  }),
  tools: Type.Array(
    Type.String({
      pattern: '^(router:[a-z][a-z0-9_]*|mcp(:.{1,64})?|[a-z0-9]+(-[a-z0-9]+)*)$',
      says: 'must be a server tool (`router:web_search`), `mcp`, `mcp:<label>`, or the id of a plugin',
    }),
    {
      description:
        'Server tools and plugins that the requests of interns can use: `router:web_search`, the id of a plugin, `mcp` for servers of the hosts in `allowed_domains`, `mcp:<label>` for one of `mcp.servers`. `router:file_search` needs `router:files` as well. All others are a 403.',
      default: [],
      maxItems: 1000,
    },
  ),
  max_per_member: Type.Integer({
    description: 'Maximum number of interns of a member.',
    default: 200,
    minimum: 1,
    maximum: 1_000_000,
  }),
  max_running: Type.Integer({
    description: 'Maximum number of interns that run in a gateway process. Others stay `queued` until one stops.',
    default: 50,
    minimum: 1,
    maximum: 10_000,
  }),
  schedules: Type.Object({
    enabled: Type.Boolean({
      description:
        'Whether interns can be invoked by a cron expression or a webhook. If not, the routes are a 404, and nothing is due.',
      default: false,
    }),
    max_per_intern: Type.Integer({
      description: 'Maximum number of schedules of an intern.',
      default: 20,
      minimum: 1,
      maximum: 1000,
    }),
  }),
  provision_ms: milliseconds('Timeout of the provisioning of an intern.', 120_000, 100),
  health_ms: milliseconds('Time between two health checks of a running intern.', 15_000, 50),
});
