import { defineEmbeddingWire } from '../../whole-wire.ts';
import { type ReaderContext, writeBatchEmbed } from './request.ts';
import { readBatchEmbed } from './wire.ts';

/** `batchEmbedContents`. */
export const geminiEmbedding = defineEmbeddingWire<ReaderContext>({
  facts: { maxBatch: 100, takesTokens: false, takesImages: true },
  writeRequest: writeBatchEmbed,
  readWhole: readBatchEmbed,
});
