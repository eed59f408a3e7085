import { routesOf } from '../../http/define-route.ts';
import { rerankError } from '../../openapi/error-shapes.ts';
import { runHeaders } from '../../openapi/parameters.ts';
import { named } from '../../openapi/schema-writer.ts';
import { rerankSchema } from '../../requests/rerank/schema.ts';
import { writeRerankError } from './errors.ts';
import { createRerankHandler, type RerankParts } from './handler.ts';
import { rerankResult } from './shapes.ts';

const route = routesOf<RerankParts>({ base: '/api/v1', tag: 'Inference', permission: 'inference' });

/** @see docs/reference/rerank.md */
export const rerankRoutes = [
  route('POST', '/rerank', {
    id: 'createRerank',
    summary: 'Rerank documents',
    headers: runHeaders,
    body: {
      schema: named('RerankRequest', rerankSchema),
      example: { model: 'simulator/rerank', query: 'red fox', documents: ['A blue bird', 'The red fox'] },
    },
    response: { description: 'The documents by relevance, the most relevant one first.', schema: rerankResult },
    takesInterns: true,
    errors: writeRerankError,
    error: rerankError,
    open: createRerankHandler,
  }),
];
