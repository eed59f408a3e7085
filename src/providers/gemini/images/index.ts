import { defineImageWire } from '../../image-wire.ts';
import { createImageReader, readWholeImage } from './chunks.ts';
import { factsOf } from './models.ts';
import { type Reading, writeImageRequest } from './request.ts';

/** Pictures by `generateContent`, of models that make them among other things. */
export const geminiImages = defineImageWire<Reading>({
  facts: factsOf(''),
  factsOf,
  writeImageRequest,
  createImageReader,
  readWholeImage,
});
