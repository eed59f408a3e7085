import type { FastifyRequest } from 'fastify';
import { invalidRequest } from '../../domain/errors.ts';
import { getPreset, getPresetVersion, type PresetScope } from '../../management/presets/find-preset.ts';
import { createPreset, deletePreset, savePresetSettings, updatePreset } from '../../management/presets/save-preset.ts';
import { checkCreatePreset, checkPresetSlug, checkUpdatePreset } from '../../management/presets/schema.ts';
import { writeFoundPreset, writePreset, writePresetVersion } from '../../management/presets/write-preset.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import {
  type PresetBody,
  readChatPreset,
  readMessagesPreset,
  readResponsesPreset,
} from '../../requests/preset-body.ts';
import { isObject } from '../../schema/by-kind.ts';
import { routesOf } from '../../http/define-route.ts';
import { requestSchema } from '../../requests/responses/schema.ts';
import { anyObject } from '../../schema/shapes.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { actorOf, type ManagementApiParts, managementBodyLimit } from '../management/route.ts';
import { pageQuery } from '../../openapi/parameters.ts';
import { deleted } from '../../openapi/shapes.ts';
import { onePreset, onePresetVersion, presetFromRequest, presetList, presetVersionList } from './shapes.ts';

const route = routesOf<ManagementApiParts>({
  base: '/api/v1/presets',
  tag: 'Presets',
  permission: 'workspace',
  limitBody: () => managementBodyLimit,
});

/** Presets of the workspace of the key. @see docs/reference/presets.md */
export const presetRoutes = [
  route('GET', '', {
    id: 'listPresets',
    summary: 'List the presets',
    query: pageQuery,
    response: { description: 'A page of presets.', schema: presetList },
    handle: async (parts, { request }) => {
      const page = readQuery(request, readPage);
      const { rows, total } = await callStore(() => parts.management.listPresets(scopeOf(request).workspaceId, page));
      return { data: rows.map(writePreset), total_count: total };
    },
  }),
  route('POST', '', {
    id: 'createPreset',
    summary: 'Create a preset',
    body: { check: checkCreatePreset, example: { slug: 'short', config: { max_output_tokens: 100 } } },
    response: { status: 201, description: 'The preset.', schema: onePreset },
    statuses: [409],
    handle: async (parts, { request, body }) => {
      const created = await callStore(() => createPreset(parts, actorOf(request), scopeOf(request), body));
      return { data: writeFoundPreset(created) };
    },
  }),
  route('GET', '/:slug', {
    id: 'findPreset',
    summary: 'Find a preset',
    response: { description: 'The preset and its designated version.', schema: onePreset },
    handle: async (parts, { request, params }) => {
      const found = await callStore(() => getPreset(parts.management, scopeOf(request), params.slug));
      return { data: writeFoundPreset(found) };
    },
  }),
  route('PATCH', '/:slug', {
    id: 'updatePreset',
    summary: 'Change a preset',
    body: { check: checkUpdatePreset, example: { designated_version: 1 } },
    response: { description: 'The preset and its designated version.', schema: onePreset },
    statuses: [409],
    handle: async (parts, { request, params, body }) => {
      const changed = await callStore(() => updatePreset(parts, actorOf(request), scopeOf(request), params.slug, body));
      return { data: writeFoundPreset(changed) };
    },
  }),
  route('DELETE', '/:slug', {
    id: 'deletePreset',
    summary: 'Delete a preset',
    response: deleted,
    handle: async (parts, { request, params }) => {
      await callStore(() => deletePreset(parts, actorOf(request), scopeOf(request), params.slug));
      return { deleted: true as const };
    },
  }),
  route('GET', '/:slug/versions', {
    id: 'listPresetVersions',
    summary: 'List the versions of a preset',
    query: pageQuery,
    response: { description: 'A page of versions.', schema: presetVersionList },
    handle: async (parts, { request, params }) => {
      const page = readQuery(request, readPage);
      return callStore(async () => {
        const { preset } = await getPreset(parts.management, scopeOf(request), params.slug);
        const { rows, total } = await parts.management.listPresetVersions(preset.id, page);
        return { data: rows.map(writePresetVersion), total_count: total };
      });
    },
  }),
  route('GET', '/:slug/versions/:version', {
    id: 'findPresetVersion',
    summary: 'Find a version of a preset',
    response: { description: 'The version.', schema: onePresetVersion },
    handle: async (parts, { request, params }) => {
      return callStore(async () => {
        const { preset } = await getPreset(parts.management, scopeOf(request), params.slug);
        const version = await getPresetVersion(parts.management, preset, Number(params.version));
        return { data: writePresetVersion(version) };
      });
    },
  }),
  route('POST', '/:slug/responses', {
    id: 'savePresetFromRequest',
    params: checkPresetSlug.schema.properties,
    summary: 'Save the settings of a request',
    description: 'Creates the preset, or a new version of it.',
    body: { schema: requestSchema, example: { model: 'simulator/echo', instructions: 'Be short.' } },
    response: { description: 'The preset and the new version.', schema: presetFromRequest },
    statuses: [409],
    handle: (parts, { request, params }) => saveFrom(parts, request, params.slug, readResponsesPreset),
  }),
  route('POST', '/:slug/chat/completions', {
    id: 'savePresetFromChat',
    params: checkPresetSlug.schema.properties,
    summary: 'Save the settings of a chat completion',
    description: 'Creates the preset, or a new version of it. `messages` may be left out.',
    body: { schema: anyObject(), example: { model: 'simulator/echo', max_tokens: 100 } },
    response: { description: 'The preset and the new version.', schema: presetFromRequest },
    statuses: [409],
    handle: (parts, { request, params }) => saveFrom(parts, request, params.slug, readChatPreset),
  }),
  route('POST', '/:slug/messages', {
    id: 'savePresetFromMessage',
    params: checkPresetSlug.schema.properties,
    summary: 'Save the settings of a message',
    description: 'Creates the preset, or a new version of it. `messages` may be left out.',
    body: { schema: anyObject(), example: { model: 'simulator/echo', system: 'Be short.', max_tokens: 100 } },
    response: { description: 'The preset and the new version.', schema: presetFromRequest },
    statuses: [409],
    handle: (parts, { request, params }) => saveFrom(parts, request, params.slug, readMessagesPreset),
  }),
];

async function saveFrom(
  parts: ManagementApiParts,
  request: FastifyRequest,
  slugParam: string,
  read: (body: Record<string, unknown>) => PresetBody,
) {
  const { slug } = checkPresetSlug({ slug: slugParam });
  const { config, systemPrompt, unknown } = readBody(request.body, read);
  const saved = await callStore(() =>
    savePresetSettings(parts, actorOf(request), scopeOf(request), slug, { config, systemPrompt }),
  );
  return { data: writeFoundPreset(saved), ...(unknown.length > 0 && { ignored_fields: unknown }) };
}

const scopeOf = (request: FastifyRequest): PresetScope => {
  const { workspaceId, memberId } = request.caller!; // the route needs a key
  return { workspaceId, memberId };
};

/** Reads the settings of a preset from the body of a request. @throws {GatewayError} `invalid_request` */
function readBody(
  body: unknown,
  read: (body: Record<string, unknown>) => PresetBody,
): PresetBody & { systemPrompt: string | null } {
  if (!isObject(body)) throw invalidRequest([{ path: '', message: 'must be a JSON object: the body of a request.' }]);
  const settings = read(body);
  const { systemPrompt } = settings;
  if (systemPrompt !== null && typeof systemPrompt !== 'string') {
    throw invalidRequest([{ path: 'instructions', message: '`instructions` must be a string.' }]);
  }
  return { ...settings, systemPrompt };
}
