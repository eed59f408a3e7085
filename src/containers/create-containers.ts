import { buffer } from 'node:stream/consumers';
import type { Caller } from '../domain/caller.ts';
import { checkNetwork, mayReadFiles } from '../domain/reach.ts';
import {
  decodePath,
  encodePath,
  isVisiblePath,
  writeContainerFileId,
} from '../management/containers/container-file-id.ts';
import { placeContainer } from '../management/containers/container-place.ts';
import type { Sandbox, SandboxEntry } from '../platform/sandbox/sandbox.ts';
import { callStore } from '../platform/storage/call-store.ts';
import type { ByteText } from '../platform/storage/ports/containers.ts';
import type {
  ContainerCommand,
  ContainerCommandResult,
  ContainerFileCitation,
  ContainerRequest,
  Containers,
  OpenContainer,
} from '../tools/containers.ts';
import { ToolError } from '../tools/server-tool.ts';
import { attachFiles } from './attach-files.ts';
import type { ContainersParts } from './container-parts.ts';
import { type HomeSync, isTooLong, PathTooLongError } from './home-sync.ts';
import { createOutputReader, MAX_CHARACTER_BYTES, readOutput } from './output-text.ts';
import { describeConflict, Sandboxes, writePolicy } from './sandboxes.ts';
import { takeBytes } from './take-bytes.ts';
import type { WarmSandbox } from './warm-sandbox.ts';

/** Maximum number of files that the result of a command lists. */
const MAX_CITATIONS = 10;

/** Time after which a driver that failed its probe is probed again. */
const PROBE_RETRY_MS = 10_000;

/** The containers of workspaces that this process runs. */
export interface RunningContainers extends Containers {
  /** Number of running sandboxes of this process. */
  readonly running: number;
  /** Saves and stops all sandboxes. */
  close(): Promise<void>;
}

/** Creates the containers of a process. @see docs/reference/containers.md */
export function createContainers(parts: ContainersParts): RunningContainers {
  const { driver, store, files, settings, now } = parts;
  const sandboxes = new Sandboxes(parts);
  let problem = driver ? undefined : (parts.problem ?? 'No sandbox can run here.');
  let probe: Promise<string | undefined> | undefined;
  let probedAt = Number.NEGATIVE_INFINITY;

  /** Probes the driver before its first sandbox. A probe at the start of the gateway would delay the start. */
  async function checkDriver(): Promise<void> {
    if (!driver) throw new ToolError(problem);
    if (problem !== undefined && performance.now() - probedAt > PROBE_RETRY_MS) probe = undefined;
    if (!probe) {
      probedAt = performance.now();
      probe = driver.probe().catch((error: unknown) => `The sandbox driver ${driver.kind} failed: ${String(error)}`);
    }
    problem = await probe;
    if (problem !== undefined) throw new ToolError(problem);
  }

  const findWarm = async (caller: Caller, request: ContainerRequest): Promise<WarmSandbox> => {
    await checkDriver();
    return sandboxes.open(caller, request);
  };

  function bind(caller: Caller, request: ContainerRequest): OpenContainer {
    const { id } = request;
    /** Runs work in the sandbox. Starts the sandbox again if it was stopped in the meantime. */
    const use = async <Result>(signal: AbortSignal, work: (warm: WarmSandbox) => Promise<Result>): Promise<Result> =>
      work(await findWarm(caller, { ...request, signal }));
    return {
      id,
      kind: driver!.kind, // it has opened this container
      run: (command) =>
        use(command.signal, async (warm) => readResult(id, command, await warm.run(toSandbox(command)))),
      read: (path, maxBytes) =>
        use(request.signal, (warm) =>
          warm.useHome(async (_, sandbox) => {
            const content = await sandbox.read(Buffer.from(checkPath(path)));
            return content && buffer(takeBytes(content, maxBytes));
          }, request),
        ),
      write: (path, content) =>
        use(request.signal, (warm) => {
          const entry = {
            path: Buffer.from(checkPath(path)),
            kind: 'file',
            mode: 0o644,
            modifiedAtMs: now(),
          } as const;
          const write = async (_: HomeSync, sandbox: Sandbox): Promise<ContainerFileCitation> => {
            await sandbox.write(
              (async function* () {
                yield { ...entry, content: one(content) };
              })(),
            );
            return cite(id, encodePath(path));
          };
          return warm.useHome(write, { ...request, saves: true });
        }),
    };
  }

  return {
    get problem() {
      return problem;
    },
    kind: driver?.kind,
    get price() {
      return settings().price;
    },
    get running() {
      return sandboxes.running;
    },
    async findUnknownFiles(caller, fileIds) {
      if (!mayReadFiles(caller)) return fileIds;
      const { workspaceId } = caller;
      const found = await Promise.all(
        fileIds.map(async (id) => ((await callStore(() => files.files.findFile(workspaceId, id))) ? [] : [id])),
      );
      return found.flat();
    },
    async findConflict(caller, { id, compute, network }) {
      // Probes the driver while the model works. A failure is reported by the call of the tool. choice 756
      checkDriver().catch(() => {});
      const running = await callStore(async () => {
        const { workspaceId, storedId } = placeContainer(caller, id, settings().owner);
        const container = await store.findContainer(workspaceId, storedId);
        const leases = container ? await store.listLeases(container.key, now()) : [];
        return leases.find((lease) => lease.compute === compute);
      });
      return running && running.policy !== writePolicy(network) ? describeConflict(id) : undefined;
    },
    async open(caller, request) {
      checkNetwork(caller.reach, request.network?.allowedDomains ?? [], 'network_policy.allowed_domains');
      const warm = await findWarm(caller, request);
      const { fileIds = [], signal } = request;
      if (fileIds.length > 0) {
        if (!mayReadFiles(caller))
          throw new ToolError('Interns cannot use the files of the workspace here (interns.tools).');
        const attach = (home: HomeSync, sandbox: Sandbox) =>
          attachFiles(files, caller.workspaceId, fileIds, home, sandbox, now);
        await warm.useHome(attach, { signal, saves: true });
      }
      return bind(caller, request);
    },
    close: () => sandboxes.close(),
  };
}

const toSandbox = ({ onOutput, maxOutputLength, ...command }: ContainerCommand) => ({
  ...command,
  maxOutputBytes: maxOutputLength * MAX_CHARACTER_BYTES,
  ...(onOutput && {
    onOutput: createOutputReader(maxOutputLength, (stream, text) => onOutput.call(command, stream, text)),
  }),
});

function readResult(
  id: string,
  { maxOutputLength }: ContainerCommand,
  { result, changed, notes }: Awaited<ReturnType<WarmSandbox['run']>>,
): ContainerCommandResult {
  const { stdout, stderr, droppedBytes, outcome } = result;
  return {
    stdout: readOutput(stdout, maxOutputLength, droppedBytes.stdout),
    stderr: readOutput(stderr, maxOutputLength, droppedBytes.stderr),
    outcome: outcome.type === 'exit' ? { type: 'exit', exit_code: outcome.exitCode } : outcome,
    files: changed
      .map(toPath)
      .filter(isVisiblePath)
      .slice(0, MAX_CITATIONS)
      .map((path) => cite(id, path)),
    notes,
  };
}

const toPath = ({ path }: SandboxEntry): ByteText => path.toString('latin1');

const cite = (containerId: string, path: ByteText): ContainerFileCitation => ({
  type: 'container_file_citation',
  container_id: containerId,
  file_id: writeContainerFileId(path),
  filename: decodePath(path),
  start_index: 0,
  end_index: 0,
});

/** @throws {ToolError} if no file of the home folder can have this path */
function checkPath(path: string): string {
  const bytes = encodePath(path);
  if (path.isWellFormed() && isVisiblePath(bytes)) {
    if (isTooLong(bytes)) throw new ToolError(new PathTooLongError(bytes).message);
    return path;
  }
  throw new ToolError(
    `${JSON.stringify(path.slice(0, 200))} is not a path below the home folder. Write it without a leading / and without "..".`,
  );
}

async function* one(content: Buffer): AsyncGenerator<Uint8Array> {
  yield content;
}
