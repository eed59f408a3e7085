import { Duplex, type Readable, type Writable } from 'node:stream';

/** Joins two streams to one. Its end in one direction destroys both. */
export function joinStreams(input: Writable, output: Readable): Duplex {
  const joined = new Duplex({
    allowHalfOpen: false,
    read: () => void output.resume(),
    write: (bytes: Buffer, _, done) => void input.write(bytes, done),
    final(done) {
      input.end();
      input.destroy();
      done();
    },
    destroy(error, done) {
      input.destroy();
      output.destroy();
      done(error);
    },
  });
  output.on('data', (bytes: Buffer) => {
    if (!joined.push(bytes)) output.pause();
  });
  output.on('end', () => joined.push(null));
  output.on('close', () => {
    if (!output.readableEnded && !joined.destroyed) joined.destroy();
  });
  for (const stream of [input, output]) stream.on('error', () => joined.destroy());
  return joined;
}
