import { expect, it } from 'vitest';
import type { EndpointImageRequest, ImageChunk, EncodedImage } from '../../../domain/images.ts';
import { readRecording, replay } from '../../../testing/replay.ts';
import type { Target } from '../../wire.ts';
import { createImageReader, readWholeImage } from './chunks.ts';
import { readImageFacts } from './models.ts';
import { writeImageRequest } from './request.ts';

const plain: EndpointImageRequest = {
  prompt: 'A red fox',
  count: 1,
  references: [],
  passthrough: {},
  size: undefined,
  aspectRatio: undefined,
  resolution: undefined,
  quality: undefined,
  format: undefined,
  compression: undefined,
  background: undefined,
  seed: undefined,
};
const target: Target = { endpoint: 'm at P', upstreamModel: 'gemini-3-pro-image', stream: false, dialect: {} };
const recording = (name: string) => new URL(`recordings/${name}`, import.meta.url);
const readWhole = (name: string) =>
  readWholeImage(JSON.parse(readRecording(recording(`${name}.whole.http`)).body.toString()), { count: 1 });
const kinds = (chunks: ImageChunk[]) => chunks.map(({ type }) => type);

it('requests an image and nothing else', () => {
  expect(writeImageRequest(plain, target)).toEqual({
    path: '/models/gemini-3-pro-image:generateContent',
    body: {
      contents: [{ role: 'user', parts: [{ text: 'A red fox' }] }],
      generationConfig: { responseModalities: ['IMAGE'] },
    },
    dropped: [],
    readerContext: { count: 1 },
  });
});

it('requests both from the first models, which make no image without text', () => {
  const { body } = writeImageRequest(plain, { ...target, upstreamModel: 'gemini-2.0-flash-preview-image-generation' });
  expect(body).toMatchObject({ generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } });
});

it('names shape and size, but not the default size', () => {
  const { body } = writeImageRequest({ ...plain, aspectRatio: '16:9', resolution: '4K', seed: 7 }, target);
  expect(body).toMatchObject({ generationConfig: { imageConfig: { aspectRatio: '16:9', imageSize: '4K' }, seed: 7 } });
  const usual = writeImageRequest({ ...plain, aspectRatio: '1:1', resolution: '1K' }, target).body;
  expect(usual).toMatchObject({ generationConfig: { imageConfig: { aspectRatio: '1:1' } } });
  expect(JSON.stringify(usual)).not.toContain('imageSize');
});

it('sends references as bytes behind the prompt, in order', () => {
  const image = (text: string, mediaType: EncodedImage['mediaType']): EncodedImage => ({
    bytes: Buffer.from(text),
    mediaType,
    width: 1,
    height: 1,
  });
  const references = [image('one', 'image/png'), image('two', 'image/webp')];
  expect(writeImageRequest({ ...plain, references }, target).body).toMatchObject({
    contents: [
      {
        parts: [
          { text: 'A red fox' },
          { inlineData: { mimeType: 'image/png', data: 'b25l' } },
          { inlineData: { mimeType: 'image/webp', data: 'dHdv' } },
        ],
      },
    ],
  });
});

it('requests the thoughts for a stream, because they contain the drafts', () => {
  const passthrough = { thinkingConfig: { thinkingLevel: 'high' }, safetySettings: [{ category: 'x' }], topP: 0.5 };
  const { path, body } = writeImageRequest({ ...plain, passthrough }, { ...target, stream: true });
  expect(path).toBe('/models/gemini-3-pro-image:streamGenerateContent?alt=sse');
  expect(body).toMatchObject({
    safetySettings: [{ category: 'x' }],
    generationConfig: { topP: 0.5, thinkingConfig: { thinkingLevel: 'high', includeThoughts: true } },
  });
});

it('names a setting that the operator declares and the endpoint does not accept', () => {
  const request: EndpointImageRequest = { ...plain, count: 2, format: 'webp', size: { width: 64, height: 64 } };
  expect(writeImageRequest(request, target).dropped).toEqual(['n', 'size', 'output_format']);
});

it.each([
  ['gemini-2.5-flash-image', ['1K'], 3, false],
  ['models/gemini-3-pro-image-preview', ['1K', '2K', '4K'], 14, true],
  ['gemini-3.1-flash-image', ['512', '1K', '2K', '4K'], 14, true],
  ['gemini-3.1-flash-lite-image', ['1K'], 14, true],
  ['gemini-nano-banana-2.1', ['1K', '2K', '4K'], 14, true],
])('knows of %s what it can', (model, values, max, streams) => {
  expect(readImageFacts(model)).toMatchObject({
    parameters: { resolution: { values }, input_references: { max } },
    streams,
  });
  expect(readImageFacts(model).parameters).not.toHaveProperty('n'); // one image at a time
});

it('reads images among the thoughts as drafts, and counts image tokens separately', () => {
  const chunks = replay(recording('picture.stream.http'), createImageReader({ count: 1 }));
  expect(kinds(chunks)).toEqual(['start', 'partial', 'partial', 'image', 'finish']);
  expect(chunks.at(-1)).toEqual({
    type: 'finish',
    usage: {
      inputTokens: 9,
      outputTokens: 1332,
      totalTokens: 1341,
      cachedTokens: 0,
      reasoningTokens: 212,
      special: { outputImageTokens: 1120 },
    },
    dropped: ['parts[].text (of a thought)', 'parts[].thoughtSignature'],
  });
});

it('returns as many images as were requested, and names the rest', () => {
  const chunks = readWhole('words-too');
  expect(kinds(chunks)).toEqual(['start', 'image', 'finish']);
  expect(chunks.at(-1)).toMatchObject({ dropped: ['parts[].text', 'parts[].inlineData (more than was asked for)'] });
});

it('counts all output as image tokens if the provider does not separate them', () => {
  expect(readWhole('details-missing').at(-1)).toMatchObject({ usage: { special: { outputImageTokens: 1290 } } });
});

it('reports in the text of the model why there is no image', () => {
  expect(() => readWhole('no-image')).toThrow('The model made no image (NO_IMAGE): Which fox do you mean?');
});
