import type { ImageFacts } from '../../../domain/images.ts';
import { defineImageWire } from '../../image-wire.ts';
import { createImageReader, readWholeImage } from './chunks.ts';
import { type ReaderContext, writeImageRequest } from './request.ts';

/**
 * Capabilities of servers that offer models of several vendors through one protocol. They send only finished images.
 */
const facts: ImageFacts = {
  parameters: {
    aspect_ratio: {
      type: 'enum',
      values: ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'],
    },
    resolution: { type: 'enum', values: ['1K', '2K', '4K'] },
    input_references: { type: 'range', min: 0, max: 16 },
    seed: { type: 'boolean' },
  },
  passthrough: ['temperature', 'top_p', 'image_config'],
  streams: false,
  pricing: undefined,
};

/** Images in the responses of `/chat/completions`, requested by `modalities` and `image_config`. */
export const chatImages = defineImageWire<ReaderContext>({
  facts,
  writeRequest: writeImageRequest,
  createReader: createImageReader,
  readWhole: readWholeImage,
});
