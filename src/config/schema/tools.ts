import { Type } from 'typebox';
import { engineDefaults, type SearchDriverName } from '../search-engines.ts';
import { milliseconds } from './fields.ts';

const searchEngine = Type.Object({
  driver: Type.Enum(
    ['searxng', 'brave', 'exa', 'tavily', 'serper', 'perplexity', 'firecrawl', 'parallel'] satisfies SearchDriverName[],
    { description: 'Protocol of the service. Any name of an engine may have any driver.' },
  ),
  base_url: Type.Optional(
    Type.String({
      description: 'Base URL of the service, with its version. Required for `searxng`. Absent: its public address.',
      pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
      says: 'must be an http or https URL without credentials, query and fragment',
    }),
  ),
  api_key: Type.Optional(
    Type.String({
      description:
        'Key of the service. Absent: `BRAVE_API_KEY`, `EXA_API_KEY`, `TAVILY_API_KEY`, `SERPER_API_KEY`, `PERPLEXITY_API_KEY`, `FIRECRAWL_API_KEY` or `PARALLEL_API_KEY` of the environment, by driver. `searxng` needs none.',
      minLength: 1,
      pattern: '^[!-~]+$',
      says: 'must consist of visible ASCII characters',
      secret: true,
    }),
  ),
  price_per_search: Type.Number({
    description: 'USD that a caller pays per search.',
    default: engineDefaults.price_per_search,
    minimum: 0,
    maximum: 1000,
  }),
  timeout_ms: milliseconds('Timeout of one search.', engineDefaults.timeout_ms),
});

const sandboxSize = (description: string, value: number, minimum: number) =>
  Type.Integer({ description, default: value, minimum, maximum: 1_099_511_627_776, unit: 'bytes' });

const sandboxCount = (description: string, value: number, minimum: number, maximum: number) =>
  Type.Integer({ description, default: value, minimum, maximum });

const sandboxImage = Type.String({
  description: 'Image of sandboxes. It has bash, coreutils, util-linux, GNU findutils and GNU tar.',
  default: 'python:3.13-slim',
  minLength: 1,
  restart: true,
});

/** The network access of pods. Absent: they have none. */
const podEgress = Type.Object({
  host: Type.String({
    description:
      'Address on which this gateway serves the egress proxy of pods. Only sandboxes have credentials for it. `0.0.0.0`: all addresses.',
    default: '0.0.0.0',
    minLength: 1,
    restart: true,
  }),
  port: Type.Integer({
    description: 'Its port. With `workers`, worker n has the port plus n, from 0.',
    default: 3128,
    minimum: 1,
    maximum: 65_000,
    restart: true,
  }),
  address: Type.String({
    description:
      'IP address under which pods reach this process of the gateway. Pods have no DNS, so it cannot be a name. A gateway in a pod has that of the pod.',
    pattern: '^[0-9A-Fa-f.:]{2,45}$',
    says: 'must be an IP address',
    restart: true,
  }),
  gateway_labels: Type.Optional(
    Type.Record(
      Type.String({ pattern: '^[A-Za-z0-9./_-]{1,317}$' }),
      Type.String({ pattern: '^[A-Za-z0-9._-]{0,63}$' }),
      {
        description:
          'Labels of the pods of the gateway, if it runs in the cluster: then the NetworkPolicy permits these pods, and not an address.',
        minProperties: 1,
        maxProperties: 20,
        restart: true,
      },
    ),
  ),
  gateway_namespace: Type.Optional(
    Type.String({
      description: 'Namespace of the pods with `gateway_labels`. By default that of the sandboxes.',
      minLength: 1,
      restart: true,
    }),
  ),
});

/** Limits apply to sandboxes that start afterwards. */
const sandbox = Type.Object({
  driver: Type.Enum(['auto', 'bubblewrap', 'docker', 'kubernetes', 'simulation', 'off'], {
    description:
      'Driver that runs the commands of models. `auto`: `bubblewrap` if it works on this host, otherwise none. `simulation`: a shell without a real system, for demonstrations. `off`: none.',
    default: 'auto',
    restart: true,
  }),
  memory: sandboxSize('Memory of all processes of a sandbox together.', 536_870_912, 33_554_432),
  cpus: Type.Number({
    description:
      'CPU cores of a sandbox, such as `0.5`. With `bubblewrap`, it needs cgroup v2; without, its processes only have a lower priority.',
    default: 1,
    minimum: 0.05,
    maximum: 256,
  }),
  processes: sandboxCount('Maximum number of processes and threads of a sandbox.', 256, 8, 32_768),
  disk: sandboxSize('Size of the home folder of a sandbox.', 1_073_741_824, 1_048_576),
  files: sandboxCount('Maximum number of files, folders and links in the home folder.', 200_000, 100, 10_000_000),
  temporary: sandboxSize('Size of `/tmp`, which exists while the sandbox runs.', 67_108_864, 1_048_576),
  owner: Type.Enum(['member', 'workspace'], {
    description:
      'Who uses a container. `member`: only the keys of the member whose key created it. `workspace`: all inference keys of the workspace, so that every caller that knows or guesses its id reads its files.',
    default: 'member',
  }),
  max_running: sandboxCount(
    'Maximum number of running sandboxes of a member. Callers without a member count per workspace.',
    10,
    1,
    10_000,
  ),
  max_running_total: sandboxCount('Maximum number of running sandboxes of a gateway process.', 50, 1, 10_000),
  idle_seconds: sandboxCount('A sandbox that runs no command for this long stops. Its files are kept.', 300, 1, 86_400),
  retention_days: sandboxCount(
    'Days after the last use after which the files of a container are deleted.',
    30,
    1,
    3650,
  ),
  price_per_second: Type.Number({
    description: 'USD that a caller pays per second of a running command.',
    default: 0,
    minimum: 0,
    maximum: 1000,
  }),
  min_seconds: sandboxCount('Fewest seconds of a tool call that are charged.', 30, 0, 3600),
  docker: Type.Object({
    socket: Type.Optional(
      Type.String({
        description:
          'Unix socket of Docker or Podman. By default that of `DOCKER_HOST`, otherwise `/var/run/docker.sock`.',
        minLength: 1,
        restart: true,
      }),
    ),
    image: sandboxImage,
    runtime: Type.Optional(
      Type.String({
        description: 'OCI runtime that the service knows, such as `runsc` for gVisor. By default that of the service.',
        minLength: 1,
        restart: true,
      }),
    ),
  }),
  kubernetes: Type.Object({
    kubeconfig: Type.Optional(
      Type.String({
        description:
          'Path of a kubeconfig file. By default the cluster in which the gateway runs, otherwise `KUBECONFIG` or `~/.kube/config`.',
        minLength: 1,
        restart: true,
      }),
    ),
    context: Type.Optional(
      Type.String({
        description: 'Context of the kubeconfig file. By default its current one.',
        minLength: 1,
        restart: true,
      }),
    ),
    namespace: Type.Optional(
      Type.String({
        description: 'Namespace of the pods. By default that of the context, or of the pod of the gateway.',
        minLength: 1,
        restart: true,
      }),
    ),
    image: sandboxImage,
    runtime_class: Type.Optional(
      Type.String({ description: 'RuntimeClass of the pods, such as `gvisor`.', minLength: 1, restart: true }),
    ),
    home_medium: Type.Enum(['disk', 'memory'], {
      description:
        'Where the home folder is. `disk`: the kubelet enforces its size after a while. `memory`: the system enforces it at once, and it counts as memory.',
      default: 'disk',
      restart: true,
    }),
    egress: Type.Optional(podEgress),
  }),
});

export const toolsSection = Type.Object({
  modules: Type.Array(Type.String({ minLength: 1 }), {
    description: 'Modules that export server tools of your own, as paths.',
    default: [],
    maxItems: 100,
    restart: true,
  }),
  max_steps: Type.Integer({
    description:
      'Maximum number of calls of server tools of a request with `stop_server_tools_when`. Requests without it have at most 30.',
    default: 100,
    minimum: 1,
    maximum: 1000,
  }),
  image_generation: Type.Object({
    model: Type.String({
      description:
        'Image model of the tool `router:image_generation` in requests that name none, if their workspace has no `default_image_model`.',
      default: 'openai/gpt-5-image',
      minLength: 1,
    }),
  }),
  web_search: Type.Object({
    engines: Type.Object({
      exa: Type.Optional(searchEngine),
      firecrawl: Type.Optional(searchEngine),
      parallel: Type.Optional(searchEngine),
      perplexity: Type.Optional(searchEngine),
    }),
  }),
  sandbox,
});
