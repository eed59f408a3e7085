import { defineImageWire } from '../../image-wire.ts';
import { createImageReader, readWholeImage } from './chunks.ts';
import { readImageFacts } from './models.ts';
import { type ReaderContext, writeImageRequest } from './request.ts';

/** Images by `generateContent`, for models that generate images and other output. */
export const geminiImages = defineImageWire<ReaderContext>({
  facts: readImageFacts(''),
  factsOf: readImageFacts,
  writeRequest: writeImageRequest,
  createReader: createImageReader,
  readWhole: readWholeImage,
});
