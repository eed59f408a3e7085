import { GatewayError } from '../../src/domain/errors.ts';
import type {
  ContainerCommand,
  ContainerCommandResult,
  ContainerFileCitation,
  ContainerRequest,
  Containers,
  OpenContainer,
} from '../../src/tools/containers.ts';
import { ToolError } from '../../src/tools/server-tool.ts';

/** Containers in memory, whose commands a test scripts. */
export interface FakeContainers extends Containers {
  problem: string | undefined;
  kind: OpenContainer['kind'] | undefined;
  price: { perSecondNanoUsd: bigint; minSeconds: number };
  /** Ids of the stored files that exist. */
  readonly storedFiles: Set<string>;
  /** The requests of `open`, in order. */
  readonly opened: ContainerRequest[];
  /** The commands, in order. */
  readonly commands: (ContainerCommand & { readonly containerId: string })[];
  /** The files of containers, by `<id>/<path>`. */
  readonly files: Map<string, Buffer>;
  /** What commands do. Absent: they print themselves. */
  run: ((command: ContainerCommand, containerId: string) => Promise<Partial<ContainerCommandResult>>) | undefined;
  /** Why no container can be opened. */
  failure: Error | undefined;
  /** The conflict that is known before a request is sent. */
  conflict: string | undefined;
  reset(): void;
}

export const cite = (containerId: string, path: string): ContainerFileCitation => ({
  type: 'container_file_citation',
  container_id: containerId,
  filename: path,
  start_index: 0,
  end_index: 0,
  file_id: `cfile_${Buffer.from(path).toString('base64url')}`,
});

/** Creates containers whose commands print themselves. */
export function createFakeContainers(): FakeContainers {
  const fake: FakeContainers = {
    problem: undefined,
    kind: 'bubblewrap',
    price: { perSecondNanoUsd: 0n, minSeconds: 30 },
    storedFiles: new Set(),
    opened: [],
    commands: [],
    files: new Map(),
    run: undefined,
    failure: undefined,
    conflict: undefined,
    reset() {
      Object.assign(fake, { problem: undefined, kind: 'bubblewrap', run: undefined, failure: undefined });
      Object.assign(fake, { conflict: undefined, price: { perSecondNanoUsd: 0n, minSeconds: 30 } });
      for (const list of [fake.opened, fake.commands]) list.length = 0;
      fake.files.clear();
      fake.storedFiles.clear();
    },
    findUnknownFiles: async (_caller, ids) => ids.filter((id) => !fake.storedFiles.has(id)),
    findConflict: async () => fake.conflict,
    async open(_caller, request) {
      fake.opened.push(request);
      if (fake.failure) throw fake.failure;
      return openFake(fake, request.id);
    },
  };
  return fake;
}

const openFake = (fake: FakeContainers, id: string): OpenContainer => ({
  id,
  kind: 'bubblewrap',
  async run(command) {
    fake.commands.push({ ...command, containerId: id });
    const stdout = `${command.command}\n`;
    const done = await fake.run?.(command, id);
    const outcome = { type: 'exit', exit_code: 0 } as const;
    return { stdout: done ? '' : stdout, stderr: '', outcome, files: [], notes: [], ...done };
  },
  read: async (path) => fake.files.get(`${id}/${path}`),
  async write(path, content) {
    fake.files.set(`${id}/${path}`, content);
    return cite(id, path);
  },
});

export const tooMany = new ToolError('You have 10 running containers, which is the limit.');
export const otherPolicy = new GatewayError('conflict', 'The container runs with another network policy.');
