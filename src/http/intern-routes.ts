/**
 * The routes that the key of an intern can use, by method and path of the table of routes. Every other route is a 403, also a
 * new one. Interns change nothing outside of their home.
 *
 * @see docs/reference/interns.md#keys-of-interns
 */
export const internRoutes: ReadonlySet<string> = new Set([
  // models
  'POST /api/v1/responses',
  'GET /api/v1/responses',
  'POST /api/v1/responses/compact',
  'POST /api/v1/responses/input_tokens',
  'POST /api/v1/chat/completions',
  'POST /api/v1/completions',
  'POST /api/v1/messages',
  'POST /api/v1/messages/count_tokens',
  'POST /api/v1/models/*',
  'POST /api/v1/tunedModels/*',
  'POST /api/v1beta/:author/:call',
  'POST /api/v1beta/models/*',
  'POST /api/v1beta/tunedModels/*',
  'POST /api/v1/images',
  'POST /api/v1/images/generations',
  'POST /api/v1/images/edits',
  'POST /api/v1/embeddings',
  'POST /api/v1/rerank',
  'GET /api/v1/models',
  'GET /api/v1/models/*',
  'GET /api/v1/models/user',
  'GET /api/v1beta/models',
  'GET /api/v1beta/models/*',
  'GET /api/v1/models/count',
  'GET /api/v1/models/:author/:slug/endpoints',
  'GET /api/v1/model/*',
  'GET /api/v1/embeddings/models',
  'GET /api/v1/rerank/models',
  'GET /api/v1/images/models',
  'GET /api/v1/images/models/:author/:slug/endpoints',
  'GET /api/v1/endpoints/zdr',
  'GET /api/v1/providers',
  // what it is and what it has used: the handlers return nothing of others
  'GET /api/v1/key',
  'GET /api/v1/generation',
  'GET /api/v1/generations',
  'GET /api/v1/interns/:intern_id',
  'GET /api/v1/interns/:intern_id/schedules',
  'GET /api/v1/interns/:intern_id/schedules/:schedule_id',
  'GET /api/v1/vault/interns/:internId/secrets',
  'GET /api/v1/vault/interns/:internId/effective-secrets',
  'GET /api/v1/containers/:container_id/files',
  'GET /api/v1/containers/:container_id/files/:file_id',
  'GET /api/v1/containers/:container_id/files/:file_id/content',
  // The interface has a 404 for the collection, so the handlers reject the key.
  'GET /api/v1/interns',
  'POST /api/v1/interns',
]);
