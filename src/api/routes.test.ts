import { expect, it } from 'vitest';
import { definedRoutes } from './routes.ts';

const named = definedRoutes.map((route) => ({ ...route, name: `${route.method} ${route.path}` }));

it('a method and a path have one route', () => {
  expect(new Set(named.map(({ name }) => name)).size).toBe(named.length);
});

it('an intern calls models and reads what belongs to it', () => {
  expect(named.flatMap(({ takesInterns, name }) => (takesInterns ? name : [])).sort()).toEqual([
    'GET /api/v1/analytics',
    'GET /api/v1/containers/:container_id/files',
    'GET /api/v1/containers/:container_id/files/:file_id',
    'GET /api/v1/containers/:container_id/files/:file_id/content',
    'GET /api/v1/embeddings/models',
    'GET /api/v1/endpoints/zdr',
    'GET /api/v1/generation',
    'GET /api/v1/generations',
    'GET /api/v1/generations/live',
    'GET /api/v1/images/models',
    'GET /api/v1/images/models/:author/:slug/endpoints',
    // The interface has a 404 for the collection, so the handlers reject the key.
    'GET /api/v1/interns',
    'GET /api/v1/interns/:intern_id',
    'GET /api/v1/interns/:intern_id/schedules',
    'GET /api/v1/interns/:intern_id/schedules/:schedule_id',
    'GET /api/v1/key',
    'GET /api/v1/model/*',
    'GET /api/v1/models',
    'GET /api/v1/models/*',
    'GET /api/v1/models/:author/:slug/endpoints',
    'GET /api/v1/models/count',
    'GET /api/v1/models/user',
    'GET /api/v1/providers',
    'GET /api/v1/rerank/models',
    'GET /api/v1/responses',
    'GET /api/v1/vault/interns/:internId/effective-secrets',
    'GET /api/v1/vault/interns/:internId/secrets',
    'GET /api/v1beta/models',
    'GET /api/v1beta/models/*',
    'POST /api/v1/chat/completions',
    'POST /api/v1/completions',
    'POST /api/v1/embeddings',
    'POST /api/v1/images',
    'POST /api/v1/images/edits',
    'POST /api/v1/images/generations',
    'POST /api/v1/interns',
    'POST /api/v1/messages',
    'POST /api/v1/messages/count_tokens',
    'POST /api/v1/models/*',
    'POST /api/v1/rerank',
    'POST /api/v1/responses',
    'POST /api/v1/responses/compact',
    'POST /api/v1/responses/input_tokens',
    'POST /api/v1/tunedModels/*',
    'POST /api/v1beta/:author/:call',
    'POST /api/v1beta/models/*',
    'POST /api/v1beta/tunedModels/*',
  ]);
});
