import { describe, expect, it } from 'vitest';
import { refused, writeTo } from '../../../tests/wires/write-to.ts';
import { writeRequest } from './request.ts';

const write = writeTo(writeRequest, { upstreamModel: 'gemini-2.5-flash' });

describe('media', () => {
  const part = (given: object) =>
    (
      write({ input: [{ type: 'message', role: 'user', content: [given as never] }] }).body.contents as [
        { parts: object[] },
      ]
    )[0].parts[0];

  it.each<[object, object]>([
    [
      { type: 'input_image', image_url: 'data:image/webp;base64,AA' },
      { inlineData: { mimeType: 'image/webp', data: 'AA' } },
    ],
    [
      { type: 'input_image', image_url: 'https://a.example/b.png?c=d' },
      { fileData: { mimeType: 'image/png', fileUri: 'https://a.example/b.png?c=d' } },
    ],
    [{ type: 'input_file', file_data: 'JVBE' }, { inlineData: { mimeType: 'application/pdf', data: 'JVBE' } }],
    [
      { type: 'input_file', file_data: 'QQ==', filename: 'a.csv' },
      { inlineData: { mimeType: 'text/csv', data: 'QQ==' } },
    ],
    [
      { type: 'input_file', file_url: 'https://a.example/b' },
      { fileData: { mimeType: 'application/pdf', fileUri: 'https://a.example/b' } },
    ],
    [
      { type: 'input_file', file_id: 'https://files.example/v1beta/files/1' },
      { fileData: { fileUri: 'https://files.example/v1beta/files/1' } },
    ],
    [
      { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
      { inlineData: { mimeType: 'audio/wav', data: 'AA' } },
    ],
    [{ type: 'input_video', video_url: 'https://youtu.be/abc' }, { fileData: { fileUri: 'https://youtu.be/abc' } }],
    [
      { type: 'input_video', video_url: 'data:video/webm;base64,AA' },
      { inlineData: { mimeType: 'video/webm', data: 'AA' } },
    ],
  ])('are carried: %j', (given, expected) => {
    expect(part(given)).toEqual(expected);
  });

  it('name the requested detail', () => {
    const dropped = (detail: 'auto' | 'high') => {
      const image = { type: 'input_image' as const, image_url: 'https://a.example/b.png', detail };
      return write({ input: [{ type: 'message', role: 'user', content: [image] }] }).dropped;
    };
    expect(dropped('auto')).toEqual([]);
    expect(dropped('high')).toEqual(['input[0].content[0].detail (high)']);
  });

  it('must be base64', () => {
    expect(() => part({ type: 'input_image', image_url: 'data:image/png,abc' })).toThrow(
      refused('input[0].content[0]'),
    );
  });
});
