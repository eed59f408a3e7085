import { array, assert, constantFrom, nat, property, tuple, uint8Array } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutAnywhere } from '../../../testing/cut-anywhere.ts';
import { FrameReader } from './exec-stream.ts';

const names = ['stdin', 'stdout', 'stderr'] as const;
type Frame = [name: (typeof names)[number], payload: Uint8Array];

function write([name, payload]: Frame): Buffer {
  const header = Buffer.alloc(8);
  header[0] = names.indexOf(name);
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

describe('the stream of a process', () => {
  it('is read the same wherever pieces end, without what was written to the process', () => {
    const frames = array(tuple(constantFrom(...names), uint8Array()));
    assert(
      property(frames, array(nat(20)), (all, cuts) => {
        const read = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
        const reader = new FrameReader({
          output(stream, bytes) {
            read[stream] = Buffer.concat([read[stream], bytes]);
          },
        });
        for (const piece of cutAnywhere(Buffer.concat(all.map(write)), cuts)) reader.push(piece);
        const sent = (wanted: string): Buffer =>
          Buffer.concat(all.filter(([name]) => name === wanted).map(([, payload]) => payload));
        expect(read).toEqual({ stdout: sent('stdout'), stderr: sent('stderr') });
      }),
    );
  });

  it('is malformed with an unknown stream', () => {
    const reader = new FrameReader({ output() {} });
    expect(() => reader.push(Buffer.from([3, 0, 0, 0, 0, 0, 0, 1]))).toThrow('malformed');
  });
});
