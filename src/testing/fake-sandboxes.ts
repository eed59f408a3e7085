import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  type CommandResult,
  type EntryToWrite,
  type Sandbox,
  type SandboxCommand,
  type SandboxDriver,
  type SandboxEntry,
  SandboxError,
  type SandboxSpec,
} from '../platform/sandbox/sandbox.ts';

/** The work of a command of a fake sandbox, as JSON, in this order. */
export interface FakeCommand {
  /** Waits until the test lets it pass, a timeout, or the signal. */
  waitFor?: string;
  remove?: string[];
  /** Path → text. Creates folders. */
  write?: Record<string, string>;
  makeFolders?: string[];
  /** Path → target. */
  link?: Record<string, string>;
  /** Path of a file that is written to the output. */
  print?: string;
  stdout?: string;
  stderr?: string;
  exit?: number;
  /** Ends the sandbox. */
  crash?: boolean;
}

/** Size of the pieces in which files are read. */
const PIECE_BYTES = 65_536;

/** Sandboxes in memory. Their commands are JSON, and nothing runs on the host. */
export interface FakeSandboxes extends SandboxDriver {
  /** The running ones, by name. */
  readonly running: ReadonlyMap<string, FakeSandbox>;
  /** All that were started. */
  readonly specs: readonly SandboxSpec[];
  /** Resolves when a command waits for the name. */
  reached(name: string): Promise<void>;
  /** Lets all commands pass that wait for the name. */
  pass(name: string): void;
}

export interface FakeSandbox extends Sandbox {
  /** Changes the home folder as a process in the background does. */
  change(command: FakeCommand): Promise<void>;
  /** The paths of the home folder, sorted. */
  listPaths(): string[];
  /** Bytes of files that were read from outside. */
  readonly readBytes: number;
}

interface Node extends Omit<SandboxEntry, 'path' | 'bytes'> {
  content: Buffer;
}

export function createFakeSandboxes(): FakeSandboxes {
  const running = new Map<string, FakeSandbox>();
  const specs: SandboxSpec[] = [];
  const reached = new Map<string, PromiseWithResolvers<void>>();
  const passed = new Map<string, PromiseWithResolvers<void>>();
  const gate = (gates: typeof reached, name: string) => {
    const found = gates.get(name) ?? Promise.withResolvers<void>();
    gates.set(name, found);
    return found;
  };
  return {
    kind: 'simulation',
    running,
    specs,
    probe: async () => undefined,
    async start(spec) {
      specs.push(spec);
      const wait = (name: string): Promise<void> => {
        gate(reached, name).resolve();
        return gate(passed, name).promise;
      };
      const sandbox = createFakeSandbox(spec, wait, () => running.delete(spec.name));
      running.set(spec.name, sandbox);
      return sandbox;
    },
    reached: (name) => gate(reached, name).promise,
    pass: (name) => gate(passed, name).resolve(),
    removeLeftovers: async () => {},
    async close() {
      await Promise.all([...running.values()].map((sandbox) => sandbox.stop()));
    },
  };
}

function createFakeSandbox(spec: SandboxSpec, wait: (name: string) => Promise<void>, onEnd: () => void): FakeSandbox {
  const home = new Map<string, Node>();
  const ended = new AbortController();
  let stamps = 0;
  let readBytes = 0;
  const end = (error: SandboxError): void => {
    ended.abort(error);
    onEnd();
  };
  const check = (): void => {
    if (ended.signal.aborted) throw ended.signal.reason;
  };
  const put = (path: string, node: Omit<Node, 'stamp'>): void => {
    for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
      const folder = path.slice(0, at);
      if (home.get(folder)?.kind !== 'folder') put(folder, createNode('folder', 0o755));
    }
    if (node.kind !== 'folder') removeAll(path);
    home.set(path, { ...node, stamp: String(++stamps) });
  };
  const removeAll = (path: string): void => {
    for (const each of home.keys()) if (each === path || each.startsWith(`${path}/`)) home.delete(each);
  };
  const createNode = (kind: Node['kind'], mode: number, more: Partial<Node> = {}): Omit<Node, 'stamp'> => ({
    kind,
    mode,
    modifiedAtMs: 1_790_000_000_000 + stamps,
    content: Buffer.alloc(0),
    ...more,
  });
  const toText = (text: string): string => Buffer.from(text).toString('latin1');
  const apply = ({ write = {}, makeFolders = [], link = {}, remove = [] }: FakeCommand): void => {
    for (const path of remove) removeAll(toText(path));
    for (const [path, text] of Object.entries(write)) {
      put(toText(path), createNode('file', 0o644, { content: Buffer.from(text) }));
    }
    for (const path of makeFolders) put(toText(path), createNode('folder', 0o755));
    for (const [path, target] of Object.entries(link)) {
      put(toText(path), createNode('link', 0o777, { target: Buffer.from(target) }));
    }
  };
  return {
    name: spec.name,
    ended: ended.signal,
    listPaths: () => [...home.keys()].sort(),
    get readBytes() {
      return readBytes;
    },
    async change(command) {
      check();
      apply(command);
    },
    async start() {
      check();
      throw new SandboxError('unavailable', 'These sandboxes have no processes that run by themselves.');
    },
    async exec({ command, timeoutMs, maxOutputBytes, signal, onOutput }: SandboxCommand): Promise<CommandResult> {
      check();
      signal.throwIfAborted();
      const {
        waitFor,
        print,
        stdout = '',
        stderr = '',
        exit = 0,
        crash,
        ...changes
      } = JSON.parse(command) as FakeCommand;
      const result = (outcome: CommandResult['outcome'], out = stdout): CommandResult => {
        const [all, errors] = [Buffer.from(out), Buffer.from(stderr)];
        if (all.length > 0) onOutput?.('stdout', all.subarray(0, maxOutputBytes));
        if (errors.length > 0) onOutput?.('stderr', errors.subarray(0, maxOutputBytes));
        return {
          stdout: all.subarray(0, maxOutputBytes),
          stderr: errors.subarray(0, maxOutputBytes),
          droppedBytes: {
            stdout: Math.max(0, all.length - maxOutputBytes),
            stderr: Math.max(0, errors.length - maxOutputBytes),
          },
          outcome,
        };
      };
      if (waitFor !== undefined && !(await waitAtMost(wait(waitFor), timeoutMs, signal, ended.signal))) {
        return result({ type: 'timeout' });
      }
      apply(changes);
      if (crash) {
        end(new SandboxError('memory', 'The sandbox used more than its memory and was ended.'));
        signal.throwIfAborted(); // the end of the sandbox can cancel its commands
        check();
      }
      const printed = print === undefined ? stdout : (home.get(toText(print))?.content.toString() ?? '');
      return result({ type: 'exit', exitCode: exit }, printed);
    },
    async *listFiles() {
      check();
      let batch: SandboxEntry[] = [];
      for (const path of [...home.keys()].sort()) {
        const { content, ...node } = home.get(path)!; // nothing runs meanwhile
        batch.push({ ...node, path: Buffer.from(path, 'latin1'), bytes: content.length });
        if (batch.length < 1000) continue;
        yield batch;
        batch = [];
        check();
      }
      yield batch;
    },
    async read(path) {
      check();
      const node = home.get(path.toString('latin1'));
      if (node?.kind !== 'file') return undefined;
      const readPieces = function* (): Generator<Buffer> {
        for (let at = 0; at < node.content.length; at += PIECE_BYTES) {
          const piece = node.content.subarray(at, at + PIECE_BYTES);
          readBytes += piece.length;
          yield piece;
        }
      };
      return Readable.from(readPieces(), { highWaterMark: 1 });
    },
    async write(entries: AsyncIterable<EntryToWrite>) {
      check();
      for await (const { path, kind, mode, modifiedAtMs, target, content } of entries) {
        const bytes = content ? await buffer(content) : Buffer.alloc(0);
        check();
        put(path.toString('latin1'), { kind, mode, modifiedAtMs, content: bytes, ...(target && { target }) });
      }
    },
    async remove(paths) {
      check();
      for (const path of paths) removeAll(path.toString('latin1'));
    },
    async stop() {
      if (!ended.signal.aborted) end(new SandboxError('stopped', 'The sandbox was stopped.'));
    },
  };
}

/** @returns false after the time @throws the reason of a signal */
async function waitAtMost(work: Promise<void>, ms: number, ...signals: AbortSignal[]): Promise<boolean> {
  const signal = AbortSignal.any(signals);
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  work.then(() => resolve(true));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
