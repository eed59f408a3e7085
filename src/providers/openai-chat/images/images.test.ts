import { expect, it } from 'vitest';
import { GatewayError } from '../../../domain/errors.ts';
import type { EndpointImageRequest, EncodedImage } from '../../../domain/images.ts';
import { readRecording } from '../../../testing/replay.ts';
import type { Target } from '../../wire.ts';
import { createImageReader, readWholeImage } from './chunks.ts';
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
const target: Target = { endpoint: 'm at P', upstreamModel: 'google/gemini-3-pro-image', stream: false, dialect: {} };
const read = (name: string, count = 1) => {
  const { body } = readRecording(new URL(`recordings/${name}.whole.http`, import.meta.url));
  return readWholeImage(JSON.parse(body.toString()), { count });
};

it('requests an image of the prompt', () => {
  expect(writeImageRequest(plain, target)).toEqual({
    path: '/chat/completions',
    body: {
      model: 'google/gemini-3-pro-image',
      messages: [{ role: 'user', content: 'A red fox' }],
      modalities: ['image', 'text'],
    },
    dropped: [],
    readerContext: { count: 1 },
  });
});

it('requests only images from a model without text', () => {
  expect(writeImageRequest(plain, { ...target, imagesOnly: true }).body).toMatchObject({ modalities: ['image'] });
});

it('writes the settings of the image to image_config, where they win over the options', () => {
  const passthrough = { image_config: { aspect_ratio: '1:1', font: 'x' }, temperature: 0.5 };
  const request: EndpointImageRequest = {
    ...plain,
    aspectRatio: '16:9',
    resolution: '2K',
    quality: 'high',
    seed: 7,
    passthrough,
  };
  expect(writeImageRequest(request, target).body).toMatchObject({
    temperature: 0.5,
    seed: 7,
    image_config: { aspect_ratio: '16:9', image_size: '2K', quality: 'high', font: 'x' },
  });
});

it('sends references as data URLs behind the prompt', () => {
  const image: EncodedImage = { bytes: Buffer.from('one'), mediaType: 'image/webp', width: 1, height: 1 };
  expect(writeImageRequest({ ...plain, references: [image] }, target).body).toMatchObject({
    messages: [
      {
        content: [
          { type: 'text', text: 'A red fox' },
          { type: 'image_url', image_url: { url: 'data:image/webp;base64,b25l' } },
        ],
      },
    ],
  });
});

it('requests the usage of a stream, and leaves out what the server rejects', () => {
  const dialect = { omit: ['user'] };
  const { body, dropped } = writeImageRequest(plain, { ...target, stream: true, endUser: 'hg_hash', dialect });
  expect(body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  expect(body).not.toHaveProperty('user');
  expect(dropped).toEqual(['user']);
});

it('finds images among the parts of the content', () => {
  expect(read('content-parts').map(({ type }) => type)).toEqual(['start', 'image', 'finish']);
});

it('ends without a finish reason if [DONE] follows an image, and not before', () => {
  const delta = { images: [{ image_url: { url: 'https://example.com/fox.png' } }] };
  const data = JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] });
  const read = (...frames: string[]) => {
    const reader = createImageReader({ count: 1 });
    return [...frames.flatMap((each) => reader.read({ event: '', data: each })), ...reader.end()].map(
      ({ type }) => type,
    );
  };
  expect(read(data, '[DONE]')).toEqual(['start', 'image_link', 'finish']);
  expect(read(data)).toEqual(['start', 'image_link']);
  expect(read('[DONE]')).toEqual([]);
});

it('returns the link of an image that came as a link', () => {
  expect(read('link')[1]).toEqual({ type: 'image_link', url: 'https://cdn.example.com/made/fox.png?sig=1' });
});

it('returns as many images as were requested, and names text and the rest', () => {
  const chunks = read('words-too');
  expect(chunks.map(({ type }) => type)).toEqual(['start', 'image', 'finish']);
  expect(chunks.at(-1)).toMatchObject({
    usage: { outputTokens: 1332, reasoningTokens: 212, special: { outputImageTokens: 1120 } },
    dropped: ['message.content[] (text)', 'message.images[] (more than was asked for)'],
  });
});

it('counts all output as image tokens if the server does not separate them', () => {
  expect(read('content-parts').at(-1)).toMatchObject({ usage: { special: { outputImageTokens: 1290 } } });
});

it.each([
  ['refusal', 'refusal', 'The provider refused to make the image (stop): I cannot draw this person.'],
  ['filtered', 'content_policy_violation', 'The provider refused to make the image (content_filter).'],
  ['only-words', 'provider_unavailable', 'The model made no image (stop): Which fox do you mean?'],
])('reports %s as %s, in the text of the model', (name, errorType, message) => {
  const thrown = (() => {
    try {
      return read(name);
    } catch (error) {
      return error;
    }
  })();
  expect(thrown).toBeInstanceOf(GatewayError);
  expect(thrown).toMatchObject({ errorType, message });
});
