import type { Socket } from 'node:net';
import type { ProcessListener, RemoteProcess } from '../remote/remote-process.ts';

/** Stream, three zeros, and the length of the payload in network order. */
const HEADER = 8;
const streams = ['stdin', 'stdout', 'stderr'] as const;

/**
 * Reads and writes the stream of a process without a terminal.
 *
 * @see https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Container/operation/ContainerAttach
 */
export function openExecStream(socket: Socket, head: Buffer, listener: ProcessListener): RemoteProcess {
  const reader = new FrameReader(listener);
  const read = (bytes: Buffer): void => {
    try {
      reader.push(bytes);
    } catch (error) {
      socket.destroy(error as Error); // the reader throws only errors
    }
  };
  let failure: Error | undefined;
  socket.on('data', read);
  socket.once('error', (error) => {
    failure = error;
  });
  socket.once('end', () => socket.end());
  socket.once('close', () => listener.closed(failure));
  socket.resume();
  if (head.length > 0) read(head);
  return {
    write(bytes) {
      const sent = Promise.withResolvers<void>();
      socket.write(bytes, (error) => (error ? sent.reject(error) : sent.resolve()));
      return sent.promise;
    },
    setReading(isReading) {
      if (isReading) socket.resume();
      else socket.pause();
    },
    close() {
      socket.end();
      socket.destroySoon();
    },
  };
}

/** Reads frames, which can be cut anywhere. */
export class FrameReader {
  private readonly listener: Pick<ProcessListener, 'output'>;
  private header = Buffer.alloc(0);
  private stream: (typeof streams)[number] = 'stdout';
  /** Bytes of the payload that are missing. */
  private missing = 0;

  constructor(listener: Pick<ProcessListener, 'output'>) {
    this.listener = listener;
  }

  push(bytes: Buffer): void {
    for (let rest = bytes; rest.length > 0; ) {
      if (this.missing === 0) {
        const taken = HEADER - this.header.length;
        this.header = Buffer.concat([this.header, rest.subarray(0, taken)]);
        rest = rest.subarray(taken);
        if (this.header.length === HEADER) this.readHeader();
        continue;
      }
      const payload = rest.subarray(0, this.missing);
      this.missing -= payload.length;
      rest = rest.subarray(payload.length);
      if (this.stream !== 'stdin') this.listener.output(this.stream, payload);
    }
  }

  private readHeader(): void {
    const stream = streams[this.header[0]!];
    if (!stream) throw new Error('The stream of the container service is malformed.');
    this.stream = stream;
    this.missing = this.header.readUInt32BE(4);
    this.header = Buffer.alloc(0);
  }
}
