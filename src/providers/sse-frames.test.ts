import { array, assert, constantFrom, integer, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Frame } from './wire.ts';
import { FrameCutter } from './sse-frames.ts';

function cut(body: Buffer | string, size = 1_000_000, limit?: number): Frame[] {
  const bytes = Buffer.from(body);
  const cutter = new FrameCutter(limit);
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length; at += size) frames.push(...cutter.push(bytes.subarray(at, at + size)));
  return frames.concat(cutter.end());
}
const data = (...values: string[]): Frame[] => values.map((value) => ({ event: '', data: value }));

describe('a stream of server-sent events', () => {
  it.each<[string, string, Frame[]]>([
    ['one frame', 'data: a\n\n', data('a')],
    ['two frames', 'data: a\n\ndata: b\n\n', data('a', 'b')],
    ['a name', 'event: ping\ndata: a\n\n', [{ event: 'ping', data: 'a' }]],
    ['a name behind the data', 'data: a\nevent: ping\n\n', [{ event: 'ping', data: 'a' }]],
    ['a name that is gone with its frame', 'event: ping\n\ndata: a\n\n', data('a')],
    ['several lines', 'data: a\ndata: b\ndata\ndata:\n\n', data('a\nb\n\n')],
    [
      'objects with one line break between them',
      'data: {"a":1}\ndata: {}\ndata: [DONE]\n\n',
      data('{"a":1}', '{}', '[DONE]'),
    ],
    ['an object on several lines', 'data: {\ndata: "a":1}\n\n', data('{\n"a":1}')],
    ['lines of JSON', '{"a":1}\n{}\n\n{"b":[]}', data('{"a":1}', '{}', '{"b":[]}')],
    ['JSON on several lines', 'data: a\n\n{\n "a": {\n }\n}\ndata: b\n\n', data('a', '{\n "a": {\n }\n}', 'b')],
    ['a list on several lines', '[{\n "a": 1\n}\n]\n', data('[{\n "a": 1\n}\n]')],
    ['JSON that has no end', '{\n "a": 1\ndata: b\n\n[\n\ndata: c\n\n', data('b', 'c')],
    ['an error of older llama.cpp', 'error: {"a":1}\n\n', [{ event: 'error', data: '{"a":1}' }]],
    ['only the first space is no data', 'data:  a \n\n', data(' a ')],
    ['no space', 'data:a\nevent:x\n\n', [{ event: 'x', data: 'a' }]],
    ['empty data', 'data:\n\n', data('')],
    ['comments, ids, retries and unknown fields', ': hi\nid: 1\nretry: 5\nfoo: bar\n:\ndata: a\n\n', data('a')],
    ['names that only begin like fields', 'dataset: a\nevents: b\n\n', []],
    ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', data('a', 'b')],
    ['CR', 'data: a\r\rdata: b\r\r', data('a', 'b')],
    ['all line ends at once', 'data: a\r\n\ndata: b\r\r\ndata: c\n\r', data('a', 'b', 'c')],
    ['a byte order mark', '\ufeffdata: a\n\n', data('a')],
    ['a byte order mark elsewhere', 'data: \ufeffa\n\n', data('\ufeffa')],
    ['no last line end', 'data: a\n\ndata: b', data('a', 'b')],
    ['nothing', '', []],
    ['empty lines alone', '\n\r\n\r\n\n', []],
    ['characters of one to four bytes', 'data: aß世👋🏽\n\n', data('aß世👋🏽')],
  ])('reads %s, wherever it is cut', (_name, body, frames) => {
    const length = Buffer.byteLength(body);
    for (const size of [1, 2, 3, 5, 7, length || 1]) expect(cut(body, size)).toEqual(frames);
  });

  it('returns each frame when it is complete', () => {
    const cutter = new FrameCutter();
    expect(cutter.push(Buffer.from('data: a\n'))).toEqual([]);
    expect(cutter.push(Buffer.from('\ndata: b'))).toEqual(data('a'));
    expect(cutter.push(Buffer.from('\n\n'))).toEqual(data('b'));
    expect(cutter.end()).toEqual([]);
  });

  it('gives back what was written, whatever it is and however it is cut', () => {
    const lineEnds = constantFrom('\n', '\r\n', '\r');
    const frame = array(string({ unit: 'grapheme' }), { minLength: 1, maxLength: 4 });
    assert(
      property(array(frame, { maxLength: 5 }), lineEnds, integer({ min: 1, max: 40 }), (frames, lineEnd, size) => {
        const lines = frames.map((each) => each.map((line) => line.replaceAll(/[\r\n]/g, ' ')));
        const body = lines
          .map((each) => `${each.map((line) => `data: ${line}${lineEnd}`).join('')}${lineEnd}`)
          .join('');
        expect(cut(body, size)).toEqual(data(...lines.map((each) => each.join('\n'))));
      }),
    );
  });

  it('fails at a frame that is larger than the limit, on one line or on many, and not before', () => {
    expect(cut(`data: ${'x'.repeat(80)}\n\n`, 10, 100)).toHaveLength(1);
    expect(cut(`data: ${'x'.repeat(80)}\n\n`.repeat(20), 10, 100)).toHaveLength(20);
    expect(() => cut(`data: ${'x'.repeat(120)}\n\n`, 10, 100)).toThrow('larger than 100 bytes');
    expect(() => cut('data: 12345678\n'.repeat(20), 10, 100)).toThrow('larger than 100 bytes');
    expect(() => cut('y'.repeat(200), 10, 100)).toThrow('larger than 100 bytes');
  });

  it('holds no more of a stream of CRs than the last one, which may be half of a CRLF', () => {
    const cutter = new FrameCutter(100);
    cutter.push(Buffer.from('\r'.repeat(1000)));
    expect(cutter.heldBytes).toBe(1);
    expect(cutter.push(Buffer.from('\ndata: a\r\r'))).toEqual([]);
    expect(cutter.push(Buffer.from('\n'))).toEqual(data('a'));
  });
});
