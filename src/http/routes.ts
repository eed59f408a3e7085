import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller, KeyKind } from '../domain/caller.ts';
import type { GatewayError } from '../domain/errors.ts';
import type { RouterMetadata } from '../domain/router-metadata.ts';
import type { ErrorDialect } from './error-dialect.ts';
import { GEMINI_BASE } from './gemini-paths.ts';
import type { BodyShare } from './read-body.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set when the request arrives, because `routeOptions` of Fastify creates an object at each access. */
    routeSetting: RouteSetting;
    /** `gen-…`, in `X-Generation-Id` of every response. */
    generationId: string;
    /** The bytes of a JSON body. `body` is the parsed value. */
    rawBody: Buffer | undefined;
    /** The memory of the body until the response is closed. Undefined if none was read. */
    bodyShare: BodyShare | undefined;
    /** Set on every route that needs a key. */
    caller: Caller | undefined;
    /** The arrival time in performance.now(), as observed by this process. */
    receivedAt: number;
    /** Whether it became a run, which logs itself. */
    hasRun: boolean;
    /** A failure of the gateway or a provider, for the log. Never a caller's mistake. */
    failure: GatewayError | undefined;
    /** For the error envelope. Undefined until there is a route. */
    routerMetadata: RouterMetadata | undefined;
  }
}

/**
 * The key that a route requires. `none`: no key. `any`: an inference key or a management key. `workspace`: an inference key
 * for the objects of its workspace, and a management key, which has no workspace, is a 401. `inference`: an inference key for
 * models, and a management key is a 403.
 */
export type Permission = 'none' | 'inference' | 'workspace' | 'management' | 'any';

/** The maximum body of a route. */
export interface BodyLimit {
  bytes: number;
  /** The source of the limit, for the message of a 413: the setting, if there is one. */
  source: string;
  /** Milliseconds for it to arrive, otherwise a 408. Absent: `timeouts.receive_ms`, for the whole request. */
  ms?: number;
}

export type WatchResponse = (request: FastifyRequest, raw: ServerResponse) => void;

/** The settings of a route in the table of Fastify, and of unknown paths. */
export interface RouteSetting {
  /** The path in the route table. Absent: the path is unknown. */
  path?: string;
  permission?: Permission;
  bodyIsOptional?: boolean;
  readsBody?: boolean;
  takesForms?: boolean;
  isGlobal?: boolean;
  hasMediaTypeError?: boolean;
  isOffered?: (() => boolean) | undefined;
  watch?: WatchResponse;
  bodyLimit?: BodyLimit | undefined;
  errors?: ErrorDialect | undefined;
  /** Whether the key of an intern can use it. Absent: no. */
  takesInterns?: boolean;
}

/** One row of the table of routes. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  path: string;
  permission: Permission;
  /** Absent: `server.body_limit`. */
  bodyLimit?: BodyLimit;
  /** Writes errors, including those of the server. Absent: the error envelope. */
  errors?: ErrorDialect;
  /** Whether an empty body is accepted, even with a content type. */
  bodyIsOptional?: boolean;
  /** Whether the handler reads the body itself, of any content type. */
  readsBody?: boolean;
  /** Whether a form is accepted besides JSON: `rawBody` has its bytes. */
  takesForms?: boolean;
  /** Whether a body of another content type is a 415. Otherwise it is a 400. */
  hasMediaTypeError?: boolean;
  /** Whether the operator offers it. Otherwise it is a 404. Absent: always. */
  isOffered?: () => boolean;
  /** Whether a regional host name rejects it. */
  isGlobal?: boolean;
  /** Whether it upgrades the connection to a WebSocket. */
  isSocket?: boolean;
  /** Its result is sent. A stream is written to `reply.raw` after `reply.hijack()`. */
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
}

type HandlerName =
  | 'createResponse'
  | 'openResponses'
  | 'compactResponse'
  | 'countInput'
  | 'createChatCompletion'
  | 'createCompletion'
  | 'createMessage'
  | 'countTokens'
  | 'createImage'
  | 'generateImage'
  | 'editImage'
  | 'createEmbeddings'
  | 'createRerank'
  | 'listEmbeddingModels'
  | 'listRerankModels'
  | 'listImageModels'
  | 'listImageEndpoints'
  | 'findGeneration'
  | 'listGenerations'
  | 'listModels'
  | 'listUserModels'
  | 'countModels'
  | 'findModel'
  | 'retrieveModel'
  | 'listEndpoints'
  | 'listZeroRetentionEndpoints'
  | 'listProviders'
  | 'findCurrentKey'
  | 'showHome'
  | 'showOpenApi'
  | 'health'
  | 'ready'
  | 'showMetrics'
  | 'findContent'
  | 'sendFeedback'
  | 'listFeedback'
  | 'listKeys'
  | 'createKey'
  | 'findKey'
  | 'updateKey'
  | 'deleteKey'
  | 'rotateKey'
  | 'listWorkspaces'
  | 'createWorkspace'
  | 'findWorkspace'
  | 'updateWorkspace'
  | 'deleteWorkspace'
  | 'listBudgets'
  | 'findBudget'
  | 'putBudget'
  | 'deleteBudget'
  | 'listWorkspaceMembers'
  | 'addMembers'
  | 'removeMembers'
  | 'listMembers'
  | 'findMember'
  | 'updateMember'
  | 'listGuardrails'
  | 'createGuardrail'
  | 'testGuardrail'
  | 'listKeyAssignments'
  | 'listMemberAssignments'
  | 'findGuardrail'
  | 'updateGuardrail'
  | 'deleteGuardrail'
  | 'listGuardrailBudgets'
  | 'listGuardrailKeys'
  | 'assignKeys'
  | 'unassignKeys'
  | 'listGuardrailMembers'
  | 'assignMembers'
  | 'unassignMembers'
  | 'listPresets'
  | 'createPreset'
  | 'findPreset'
  | 'updatePreset'
  | 'deletePreset'
  | 'listPresetVersions'
  | 'findPresetVersion'
  | 'savePresetFromRequest'
  | 'savePresetFromChat'
  | 'savePresetFromMessage'
  | 'listFiles'
  | 'uploadFile'
  | 'findFile'
  | 'deleteFile'
  | 'downloadFile'
  | 'listContainerFiles'
  | 'findContainerFile'
  | 'downloadContainerFile'
  | 'promoteContainerFile'
  | 'listInterns'
  | 'createIntern'
  | 'findIntern'
  | 'updateIntern'
  | 'deleteIntern'
  | 'provisionIntern'
  | 'suspendIntern'
  | 'listSchedules'
  | 'createSchedule'
  | 'findSchedule'
  | 'updateSchedule'
  | 'deleteSchedule'
  | 'callWebhook'
  | 'listVaultSecrets'
  | 'putVaultSecret'
  | 'deleteVaultSecret'
  | 'listInternSecrets'
  | 'putInternSecret'
  | 'deleteInternSecret'
  | 'copyInternSecrets'
  | 'listEffectiveSecrets'
  | 'chatWithIntern'
  | 'invokeIntern'
  | 'showDaemon'
  | 'showDaemonAccess'
  | 'showInternLog'
  | 'showCredits'
  | 'listActivity'
  | 'listAudit'
  | 'callGemini'
  | 'listGeminiModels'
  | 'findGeminiModel';

/** The handlers of `api/` by name. */
export interface Handlers extends Record<HandlerName, Route['handler']> {
  /** Bytes. */
  imageBodyLimit: number;
  writeImageError: ErrorDialect;
  writeOpenAIImageError: ErrorDialect;
  writeOpenAIError: ErrorDialect;
  writeRerankError: ErrorDialect;
  /** Writes an error of a model list, which several formats have. */
  writeModelError: ErrorDialect;
  writeMessagesError: ErrorDialect;
  writeGeminiError: ErrorDialect;
  writeInternError: ErrorDialect;
  /** Writes an error of the chat API of interns. */
  writeInternChatError: ErrorDialect;
  /** Milliseconds for the bodies of interns and vaults to arrive, and of messages to interns. choice 783 */
  internBodyMs: number;
  chatBodyMs: number;
  /** Whether the operator offers interns, and the gateway can run them. */
  offersInterns: () => boolean;
  offersSchedules: () => boolean;
  offersVaults: () => boolean;
}

/** The table of routes. */
export function listRoutes(handlers: Handlers): Route[] {
  return [
    { method: 'POST', path: '/api/v1/responses', permission: 'inference', handler: handlers.createResponse },
    {
      method: 'GET',
      path: '/api/v1/responses',
      permission: 'inference',
      isSocket: true,
      handler: handlers.openResponses,
    },
    { method: 'POST', path: '/api/v1/responses/compact', permission: 'inference', handler: handlers.compactResponse },
    { method: 'POST', path: '/api/v1/responses/input_tokens', permission: 'inference', handler: handlers.countInput },
    {
      method: 'POST',
      path: '/api/v1/chat/completions',
      permission: 'inference',
      errors: handlers.writeOpenAIError,
      handler: handlers.createChatCompletion,
    },
    {
      method: 'POST',
      path: '/api/v1/completions',
      permission: 'inference',
      errors: handlers.writeOpenAIError,
      handler: handlers.createCompletion,
    },
    {
      method: 'POST',
      path: '/api/v1/messages',
      permission: 'inference',
      errors: handlers.writeMessagesError,
      handler: handlers.createMessage,
    },
    {
      method: 'POST',
      path: '/api/v1/messages/count_tokens',
      permission: 'inference',
      errors: handlers.writeMessagesError,
      handler: handlers.countTokens,
    },
    ...listGeminiRoutes(handlers),
    {
      method: 'POST',
      path: '/api/v1/images',
      permission: 'inference',
      bodyLimit: { bytes: handlers.imageBodyLimit, source: 'images.body_limit' },
      errors: handlers.writeImageError,
      handler: handlers.createImage,
    },
    ...(['generations', 'edits'] as const).map(
      (name): Route => ({
        method: 'POST',
        path: `/api/v1/images/${name}`,
        permission: 'inference',
        bodyLimit: { bytes: handlers.imageBodyLimit, source: 'images.body_limit' },
        takesForms: name === 'edits',
        errors: handlers.writeOpenAIImageError,
        handler: name === 'edits' ? handlers.editImage : handlers.generateImage,
      }),
    ),
    {
      method: 'POST',
      path: '/api/v1/embeddings',
      permission: 'inference',
      errors: handlers.writeOpenAIError,
      handler: handlers.createEmbeddings,
    },
    { method: 'GET', path: '/api/v1/embeddings/models', permission: 'any', handler: handlers.listEmbeddingModels },
    {
      method: 'POST',
      path: '/api/v1/rerank',
      permission: 'inference',
      errors: handlers.writeRerankError,
      handler: handlers.createRerank,
    },
    { method: 'GET', path: '/api/v1/rerank/models', permission: 'any', handler: handlers.listRerankModels },
    { method: 'GET', path: '/api/v1/images/models', permission: 'any', handler: handlers.listImageModels },
    {
      method: 'GET',
      path: '/api/v1/images/models/:author/:slug/endpoints',
      permission: 'any',
      handler: handlers.listImageEndpoints,
    },
    { method: 'GET', path: '/api/v1/generation', permission: 'any', handler: handlers.findGeneration },
    { method: 'GET', path: '/api/v1/generations', permission: 'any', handler: handlers.listGenerations },
    {
      method: 'GET',
      path: '/api/v1/models',
      permission: 'any',
      errors: handlers.writeModelError,
      handler: handlers.listModels,
    },
    { method: 'GET', path: '/api/v1/models/user', permission: 'any', handler: handlers.listUserModels },
    { method: 'GET', path: '/api/v1/models/count', permission: 'any', handler: handlers.countModels },
    { method: 'GET', path: '/api/v1/model/*', permission: 'any', handler: handlers.findModel },
    {
      method: 'GET',
      path: '/api/v1/models/*',
      permission: 'any',
      errors: handlers.writeModelError,
      handler: handlers.retrieveModel,
    },
    {
      method: 'GET',
      path: '/api/v1/models/:author/:slug/endpoints',
      permission: 'any',
      handler: handlers.listEndpoints,
    },
    { method: 'GET', path: '/api/v1/endpoints/zdr', permission: 'any', handler: handlers.listZeroRetentionEndpoints },
    { method: 'GET', path: '/api/v1/providers', permission: 'any', handler: handlers.listProviders },
    { method: 'GET', path: '/api/v1/key', permission: 'any', handler: handlers.findCurrentKey },
    ...listManagementRoutes(handlers),
    ...listPresetRoutes(handlers),
    ...listFileRoutes(handlers),
    ...listContainerRoutes(handlers),
    ...listVaultRoutes(handlers),
    { method: 'GET', path: '/api/v1/openapi.json', permission: 'none', handler: handlers.showOpenApi }, // choice 636
    ...listInternRoutes(handlers),
    { method: 'GET', path: '/', permission: 'none', handler: handlers.showHome },
    { method: 'GET', path: '/health', permission: 'none', handler: handlers.health },
    { method: 'GET', path: '/ready', permission: 'none', handler: handlers.ready },
    { method: 'OPTIONS', path: '/ready', permission: 'none', handler: handlers.ready }, // of load balancers
    { method: 'GET', path: '/metrics', permission: 'none', handler: handlers.showMetrics }, // checks access itself
  ];
}

/** The API of Google. The path of a request names the model and the action. @see docs/reference/gemini.md */
function listGeminiRoutes(handlers: Handlers): Route[] {
  const row = (method: Route['method'], path: string, handler: Route['handler']): Route => ({
    method,
    path,
    permission: method === 'GET' ? 'any' : 'inference',
    errors: handlers.writeGeminiError,
    handler,
  });
  return [
    ...[GEMINI_BASE, '/api/v1'].flatMap((base) => [
      row('POST', `${base}/models/*`, handlers.callGemini),
      row('POST', `${base}/tunedModels/*`, handlers.callGemini),
    ]),
    // The Vercel AI SDK writes no `models/` before a name with a slash.
    row('POST', `${GEMINI_BASE}/:author/:call`, handlers.callGemini),
    row('GET', `${GEMINI_BASE}/models`, handlers.listGeminiModels),
    row('GET', `${GEMINI_BASE}/models/*`, handlers.findGeminiModel),
  ];
}

/** @see docs/reference/http.md */
const MANAGEMENT_BODY_LIMIT: BodyLimit = { bytes: 1024 * 1024, source: 'fixed for management' };

function listManagementRoutes(handlers: Handlers): Route[] {
  const row = (method: Route['method'], path: string, handler: Route['handler']): Route => ({
    method,
    path: `/api/v1${path}`,
    permission: 'management',
    bodyLimit: MANAGEMENT_BODY_LIMIT,
    handler,
  });
  return [
    row('GET', '/generation/content', handlers.findContent),
    row('POST', '/generation/feedback', handlers.sendFeedback),
    row('GET', '/generation/feedback', handlers.listFeedback),
    row('GET', '/keys', handlers.listKeys),
    row('POST', '/keys', handlers.createKey),
    row('GET', '/keys/:hash', handlers.findKey),
    row('PATCH', '/keys/:hash', handlers.updateKey),
    row('DELETE', '/keys/:hash', handlers.deleteKey),
    { ...row('POST', '/keys/:hash/rotate', handlers.rotateKey), bodyIsOptional: true },
    row('GET', '/workspaces', handlers.listWorkspaces),
    row('POST', '/workspaces', handlers.createWorkspace),
    row('GET', '/workspaces/:id', handlers.findWorkspace),
    row('PATCH', '/workspaces/:id', handlers.updateWorkspace),
    row('DELETE', '/workspaces/:id', handlers.deleteWorkspace),
    row('GET', '/workspaces/:id/budgets', handlers.listBudgets),
    row('GET', '/workspaces/:id/budgets/:interval', handlers.findBudget),
    row('PUT', '/workspaces/:id/budgets/:interval', handlers.putBudget),
    row('DELETE', '/workspaces/:id/budgets/:interval', handlers.deleteBudget),
    row('GET', '/workspaces/:id/members', handlers.listWorkspaceMembers),
    row('POST', '/workspaces/:id/members/add', handlers.addMembers),
    row('POST', '/workspaces/:id/members/remove', handlers.removeMembers),
    row('GET', '/members', handlers.listMembers),
    row('GET', '/members/:id', handlers.findMember),
    row('PATCH', '/members/:id', handlers.updateMember),
    row('GET', '/guardrails', handlers.listGuardrails),
    row('POST', '/guardrails', handlers.createGuardrail),
    row('POST', '/guardrails/test', handlers.testGuardrail),
    row('GET', '/guardrails/assignments/keys', handlers.listKeyAssignments),
    row('GET', '/guardrails/assignments/members', handlers.listMemberAssignments),
    row('GET', '/guardrails/:id', handlers.findGuardrail),
    row('PATCH', '/guardrails/:id', handlers.updateGuardrail),
    row('DELETE', '/guardrails/:id', handlers.deleteGuardrail),
    row('GET', '/guardrails/:id/budgets', handlers.listGuardrailBudgets),
    row('GET', '/guardrails/:id/assignments/keys', handlers.listGuardrailKeys),
    row('POST', '/guardrails/:id/assignments/keys', handlers.assignKeys),
    row('POST', '/guardrails/:id/assignments/keys/remove', handlers.unassignKeys),
    row('GET', '/guardrails/:id/assignments/members', handlers.listGuardrailMembers),
    row('POST', '/guardrails/:id/assignments/members', handlers.assignMembers),
    row('POST', '/guardrails/:id/assignments/members/remove', handlers.unassignMembers),
    row('GET', '/credits', handlers.showCredits),
    row('GET', '/activity', handlers.listActivity),
    row('GET', '/audit', handlers.listAudit),
  ];
}

/** Presets belong to the workspace of an inference key. */
function listPresetRoutes(handlers: Handlers): Route[] {
  const row = (method: Route['method'], path: string, handler: Route['handler']): Route => ({
    method,
    path: `/api/v1/presets${path}`,
    permission: 'workspace',
    bodyLimit: MANAGEMENT_BODY_LIMIT,
    handler,
  });
  return [
    row('GET', '', handlers.listPresets),
    row('POST', '', handlers.createPreset),
    row('GET', '/:slug', handlers.findPreset),
    row('PATCH', '/:slug', handlers.updatePreset),
    row('DELETE', '/:slug', handlers.deletePreset),
    row('GET', '/:slug/versions', handlers.listPresetVersions),
    row('GET', '/:slug/versions/:version', handlers.findPresetVersion),
    row('POST', '/:slug/responses', handlers.savePresetFromRequest),
    row('POST', '/:slug/chat/completions', handlers.savePresetFromChat),
    row('POST', '/:slug/messages', handlers.savePresetFromMessage),
  ];
}

/** Files belong to the workspace of an inference key; management keys name the workspace. */
function listFileRoutes(handlers: Handlers): Route[] {
  const row = (method: Route['method'], path: string, handler: Route['handler']): Route => ({
    method,
    path: `/api/v1/files${path}`,
    permission: 'any',
    isGlobal: true,
    handler,
  });
  return [
    row('GET', '', handlers.listFiles),
    { ...row('POST', '', handlers.uploadFile), readsBody: true },
    row('GET', '/:id', handlers.findFile),
    row('DELETE', '/:id', handlers.deleteFile),
    row('GET', '/:id/content', handlers.downloadFile),
  ];
}

/** Files of a container belong to its owner: a member, the organization or the workspace. */
function listContainerRoutes(handlers: Handlers): Route[] {
  const row = (method: Route['method'], path: string, handler: Route['handler']): Route => ({
    method,
    path: `/api/v1/containers/:container_id/files${path}`,
    permission: 'workspace',
    isGlobal: true,
    handler,
  });
  return [
    row('GET', '', handlers.listContainerFiles),
    row('GET', '/:file_id', handlers.findContainerFile),
    row('GET', '/:file_id/content', handlers.downloadContainerFile),
    { ...row('POST', '/:file_id/promote', handlers.promoteContainerFile), bodyIsOptional: true },
  ];
}

/** Interns belong to members of a workspace. */
function listInternRoutes(handlers: Handlers): Route[] {
  const bodyLimit = { bytes: 1_048_576, source: 'fixed for interns', ms: handlers.internBodyMs };
  const row = (method: Route['method'], path: string, handler: Route['handler']): Route => ({
    method,
    path: `/api/v1/interns${path}`,
    permission: 'workspace',
    bodyLimit,
    errors: handlers.writeInternError,
    hasMediaTypeError: true,
    isOffered: handlers.offersInterns,
    isGlobal: true,
    handler,
  });
  const chat = { errors: handlers.writeInternChatError, bodyLimit: { ...bodyLimit, ms: handlers.chatBodyMs } };
  return [
    row('GET', '', handlers.listInterns),
    row('POST', '', handlers.createIntern),
    row('GET', '/:intern_id', handlers.findIntern),
    row('PATCH', '/:intern_id', handlers.updateIntern),
    { ...row('DELETE', '/:intern_id', handlers.deleteIntern), bodyIsOptional: true },
    { ...row('POST', '/:intern_id/provision', handlers.provisionIntern), bodyIsOptional: true },
    { ...row('POST', '/:intern_id/suspend', handlers.suspendIntern), bodyIsOptional: true },
    { ...row('POST', '/:intern_id/chat/completions', handlers.chatWithIntern), ...chat },
    { ...row('POST', '/:intern_id/invoke', handlers.invokeIntern), ...chat },
    { ...row('GET', '/:intern_id/daemon', handlers.showDaemon), ...chat },
    { ...row('GET', '/:intern_id/logs', handlers.showInternLog), ...chat },
    { ...row('GET', '/:intern_id/daemon-access', handlers.showDaemonAccess), ...chat },
    ...[
      row('GET', '/:intern_id/schedules', handlers.listSchedules),
      row('POST', '/:intern_id/schedules', handlers.createSchedule),
      row('GET', '/:intern_id/schedules/:schedule_id', handlers.findSchedule),
      row('PATCH', '/:intern_id/schedules/:schedule_id', handlers.updateSchedule),
      { ...row('DELETE', '/:intern_id/schedules/:schedule_id', handlers.deleteSchedule), bodyIsOptional: true },
      // The token in the path is the permission.
      {
        ...row('POST', '/:intern_id/webhooks/:token', handlers.callWebhook),
        ...({ permission: 'none', readsBody: true } as const),
      },
    ].map((each) => ({ ...each, isOffered: handlers.offersSchedules })),
  ];
}

/** Secrets belong to the workspace of an inference key. @see docs/reference/vault.md */
function listVaultRoutes(handlers: Handlers): Route[] {
  const row = (method: Route['method'], path: string, handler: Route['handler']): Route => ({
    method,
    path: `/api/v1/vault${path}`,
    permission: 'workspace',
    bodyLimit: { bytes: 425_000, source: 'fixed for vaults', ms: handlers.internBodyMs },
    isOffered: handlers.offersVaults,
    isGlobal: true,
    handler,
  });
  return [
    row('GET', '/secrets', handlers.listVaultSecrets),
    row('PUT', '/secrets/:name', handlers.putVaultSecret),
    row('DELETE', '/secrets/:name', handlers.deleteVaultSecret),
    row('GET', '/interns/:internId/secrets', handlers.listInternSecrets),
    row('PUT', '/interns/:internId/secrets/:name', handlers.putInternSecret),
    row('DELETE', '/interns/:internId/secrets/:name', handlers.deleteInternSecret),
    row('POST', '/interns/:internId/secrets/copy', handlers.copyInternSecrets),
    row('GET', '/interns/:internId/effective-secrets', handlers.listEffectiveSecrets),
  ];
}

/** The kinds of keys that each permission admits. */
export const admittedKeyKinds: Record<Permission, readonly KeyKind[]> = {
  none: [],
  inference: ['member', 'organization'],
  workspace: ['member', 'organization'],
  management: ['management'],
  any: ['member', 'organization', 'management'],
};
