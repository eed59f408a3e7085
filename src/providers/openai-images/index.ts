import type { ImageFacts } from '../../domain/images.ts';
import { defineImageWire, type ImageWire } from '../image-wire.ts';
import { readUpstreamError } from '../errors/upstream-error.ts';
import { createImageReader, readWholeImage } from './chunks.ts';
import { type Dialect, readDialect } from './dialect.ts';
import { type ReaderContext, writeImageRequest } from './request.ts';
import type { Wire } from '../wire.ts';

/** Capabilities of OpenAI's gpt-image models and most compatible servers. */
const facts: ImageFacts = {
  parameters: {
    n: { type: 'range', min: 1, max: 10 },
    size: { type: 'enum', values: ['1024x1024', '1536x1024', '1024x1536'] },
    aspect_ratio: { type: 'enum', values: ['1:1', '3:2', '2:3', 'auto'] },
    resolution: { type: 'enum', values: ['1K'] },
    quality: { type: 'enum', values: ['auto', 'low', 'medium', 'high'] },
    output_format: { type: 'enum', values: ['png', 'jpeg', 'webp'] },
    output_compression: { type: 'range', min: 0, max: 100 },
    background: { type: 'enum', values: ['auto', 'transparent', 'opaque'] },
    input_references: { type: 'range', min: 0, max: 16 },
  },
  passthrough: ['moderation', 'input_fidelity', 'style'],
  streams: true,
  pricing: undefined,
};

const speak = (dialectOf: (settings: Readonly<Record<string, unknown>>) => Dialect): ImageWire =>
  defineImageWire<ReaderContext>({
    facts,
    writeRequest: (request, target) => writeImageRequest(request, target, dialectOf(target.dialect)),
    createReader: createImageReader,
    readWhole: readWholeImage,
  });

/** `POST {base_url}/images/generations` and `/images/edits`: OpenAI's images API and compatible servers. */
export const openaiImages = {
  id: 'openai-images',
  checkDialect: readDialect,
  authorize: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  readError: readUpstreamError,
  image: speak(readDialect),
} satisfies Wire;

/** The same wire for a text wire at the same URL, whose dialect has no image settings. */
export const textWireImages: ImageWire = speak(() => readDialect({}));
