import { expect, it } from 'vitest';
import type { Frame } from '../providers/wire.ts';
import { readRecording, replayBody } from './replay.ts';

const recording = new URL('../providers/openai-responses/recordings/rate-limited.http', import.meta.url);

it('reads status, headers and the bytes of the body', () => {
  const { status, headers, body } = readRecording(recording);
  expect(status).toBe(429);
  expect(headers).toMatchObject({ 'retry-after': '20', 'content-type': 'application/json' });
  expect(body.length).toBe(Number(headers['content-length']));
});

it('rejects a file that is no HTTP response', () => {
  expect(() => readRecording(new URL(import.meta.url))).toThrow('does not begin with the head of an HTTP response');
});

it('cuts a body into pieces of the given sizes, in turn, and loses nothing', () => {
  const seen: string[] = [];
  const reader = {
    read: (frame: Frame) => {
      seen.push(frame.data);
      return [];
    },
    end: () => [{ type: 'start' as const }],
  };
  expect(replayBody(Buffer.from('data: Zürich\n\ndata: b'), reader, [3, 1, 8])).toEqual([{ type: 'start' }]);
  expect(seen).toEqual(['Zürich', 'b']);
});
