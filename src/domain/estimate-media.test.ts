import { expect, it } from 'vitest';
import { estimateMedia } from './estimate-media.ts';

it.each<[string, object, number]>([
  ['an image', { type: 'input_image', image_url: 'https://a.example/b.png' }, 1000],
  ['an image in low detail', { type: 'input_image', image_url: 'x', detail: 'low' }, 85],
  ['a linked file', { type: 'input_file', file_url: 'https://a.example/b.pdf' }, 5000],
  ['a small PDF', { type: 'input_file', file_data: 'data:application/pdf;base64,AAAA' }, 1000],
  ['a PDF of 4 MB', { type: 'input_file', file_data: 'A'.repeat((4e6 * 4) / 3) }, 100_000],
  ['a text file', { type: 'input_file', file_data: `data:text/plain,${'a'.repeat(16_000)}` }, 3003],
  ['audio as MP3', { type: 'input_audio', input_audio: { data: 'A'.repeat(4000), format: 'mp3' } }, 6],
  ['audio as WAV', { type: 'input_audio', input_audio: { data: 'A'.repeat(4000), format: 'wav' } }, 2],
  ['audio without data', { type: 'input_audio' }, 0],
  ['a video', { type: 'input_video', video_url: 'https://a.example/b.mp4' }, 10_000],
])('estimates %s', (_, part, tokens) => {
  expect(Math.round(estimateMedia(part)!)).toBe(tokens);
});

it('leaves text to others', () => {
  expect(estimateMedia({ type: 'input_text' })).toBeUndefined();
});
