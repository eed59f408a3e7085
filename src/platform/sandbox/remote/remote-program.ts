import { randomBytes } from 'node:crypto';
import { Duplex } from 'node:stream';
import type { SandboxProcess, SandboxProgram } from '../sandbox.ts';
import { MarkedOutput } from './marked-output.ts';
import type { RemoteContainer, RemoteProcess } from './remote-process.ts';
import { READ_SCRIPT, writeProgram } from './scripts.ts';

/** Output that waits for a slow reader, if the service cannot stop sending it. More ends the stream. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** Exit code of a killed program. */
const KILLED = 137;

interface ProgramParts {
  container: RemoteContainer;
  environment: Readonly<Record<string, string>>;
  /** The sessions of running processes. */
  sessions: Set<number>;
  /** Kills a session, until none of its processes is left. */
  killSession(id: number): Promise<void>;
  /** Resolves if the connection to the process has ended, but not its sandbox. @throws {SandboxError} */
  checkEnd(): Promise<void>;
}

/** Starts a process over its own connection. */
export async function startProgram(program: SandboxProgram, parts: ProgramParts): Promise<SandboxProcess> {
  const marker = `<${randomBytes(16).toString('hex')}>`;
  const session = Promise.withResolvers<number | undefined>();
  const exit = Promise.withResolvers<number | undefined>();
  let begun: number | undefined;
  const begin = (id: number): void => {
    if (begun !== undefined) return;
    begun = id;
    parts.sessions.add(id);
    session.resolve(id);
  };
  const marks = new MarkedOutput(marker, {
    bytes: () => {},
    mark: ({ kind, value }) => (kind === 's' ? begin : exit.resolve)(value),
  });
  let remote: RemoteProcess | undefined;
  const stream = new Duplex({
    allowHalfOpen: false,
    read: () => remote?.setReading?.(true),
    write(bytes: Buffer, _, done) {
      remote!.write(bytes).then(() => done(), done);
    },
    final(done) {
      remote!.close();
      done();
    },
    destroy(error, done) {
      remote?.close();
      done(error);
    },
  });
  const push = (bytes: Buffer): void => {
    if (stream.destroyed || stream.push(bytes)) return;
    if (remote?.setReading) remote.setReading(false);
    else if (stream.readableLength > MAX_WAITING_BYTES) stream.destroy(new Error('The output was not read.'));
  };
  // Not as an argument: services log those, and the environment has credentials.
  const script = writeProgram(marker, program.command, { ...parts.environment, ...program.environment });
  remote = await parts.container.start(['bash', '-c', READ_SCRIPT, 'headgate', String(script.length)], {
    output: (name, bytes) => (name === 'stdout' ? push(Buffer.from(bytes)) : marks.push(bytes)),
    closed() {
      session.resolve(undefined);
      exit.resolve(undefined);
      if (!stream.destroyed) stream.push(null);
    },
  });
  remote.write(script).catch(() => {}); // it has ended, which `closed` says
  const exited = exit.promise.then(async (code) => {
    if (begun !== undefined) parts.sessions.delete(begun);
    if (code === undefined) await parts.checkEnd();
    return code ?? KILLED;
  });
  exited.catch(() => {}); // its caller may only use the stream
  return {
    stream,
    exited,
    async kill() {
      const id = await session.promise;
      if (id !== undefined) await parts.killSession(id);
      await exited.catch(() => {}); // the sandbox has ended, and so has the process
    },
  };
}
