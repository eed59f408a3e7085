import { routesOf } from '../../http/define-route.ts';
import { openAIError } from '../../openapi/error-shapes.ts';
import { runHeaders } from '../../openapi/parameters.ts';
import { named } from '../../openapi/schema-writer.ts';
import { embeddingSchema } from '../../requests/embeddings/schema.ts';
import { writeOpenAIError } from '../openai-errors.ts';
import { createEmbeddingsHandler, type EmbeddingsParts } from './handler.ts';
import { embeddingList } from './shapes.ts';

const route = routesOf<EmbeddingsParts>({ base: '/api/v1', tag: 'Inference', permission: 'inference' });

/** @see docs/reference/embeddings.md */
export const embeddingRoutes = [
  route('POST', '/embeddings', {
    id: 'createEmbeddings',
    summary: 'Create embeddings',
    headers: runHeaders,
    body: {
      schema: named('EmbeddingRequest', embeddingSchema),
      example: { model: 'simulator/embedding', input: ['A red fox', 'A fox that is red'] },
    },
    response: { description: 'A vector for each input, in the same order.', schema: embeddingList },
    takesInterns: true,
    errors: writeOpenAIError,
    error: openAIError,
    open: (parts) => createEmbeddingsHandler(parts),
  }),
];
