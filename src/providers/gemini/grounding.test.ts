import { expect, it } from 'vitest';
import type { Chunk } from '../../domain/chunks.ts';
import { readGrounding } from './grounding.ts';

it('names the sources that a long text has too many of, rather than to look for each in it', () => {
  const text = 'ab'.repeat(500_000);
  const support = { segment: { startIndex: 5, endIndex: text.length, text: 'c' }, groundingChunkIndices: [0] };
  const chunks: Chunk[] = [];
  const dropped = new Set<string>();
  const groundingSupports = Array.from({ length: 300_000 }, () => support);
  readGrounding({ groundingChunks: [{ web: { uri: 'https://a.test' } }], groundingSupports }, text, chunks, dropped);
  expect(chunks).toHaveLength(100);
  expect([...dropped]).toEqual(['groundingMetadata.groundingSupports']);
});
