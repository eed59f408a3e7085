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
import { readPage, readQuery } from '../management/read-query.ts';
import { actorOf, type ManagementApiParts, type ManagementHandler, pathParam } from '../management/route-handler.ts';

/** Presets of the workspace of the key. @see docs/reference/presets.md */
export function createPresetHandlers(
  parts: ManagementApiParts,
): Record<
  | 'listPresets'
  | 'createPreset'
  | 'findPreset'
  | 'updatePreset'
  | 'deletePreset'
  | 'listPresetVersions'
  | 'findPresetVersion'
  | 'savePresetFromRequest'
  | 'savePresetFromChat'
  | 'savePresetFromMessage',
  ManagementHandler
> {
  const { management } = parts;

  async function saveFrom(request: FastifyRequest, read: (body: Record<string, unknown>) => PresetBody) {
    const { slug } = checkPresetSlug({ slug: slugOf(request) });
    const { config, systemPrompt, unknown } = readBody(request.body, read);
    const saved = await callStore(() =>
      savePresetSettings(parts, actorOf(request), scopeOf(request), slug, { config, systemPrompt }),
    );
    return { data: writeFoundPreset(saved), ...(unknown.length > 0 && { ignored_fields: unknown }) };
  }

  return {
    async listPresets(request) {
      const page = readQuery(request, readPage);
      const { rows, total } = await callStore(() => management.listPresets(scopeOf(request).workspaceId, page));
      return { data: rows.map(writePreset), total_count: total };
    },

    async createPreset(request, reply) {
      const body = checkCreatePreset(request.body);
      const created = await callStore(() => createPreset(parts, actorOf(request), scopeOf(request), body));
      reply.code(201);
      return { data: writeFoundPreset(created) };
    },

    async findPreset(request) {
      const found = await callStore(() => getPreset(management, scopeOf(request), slugOf(request)));
      return { data: writeFoundPreset(found) };
    },

    async updatePreset(request) {
      const body = checkUpdatePreset(request.body);
      const changed = await callStore(() =>
        updatePreset(parts, actorOf(request), scopeOf(request), slugOf(request), body),
      );
      return { data: writeFoundPreset(changed) };
    },

    async deletePreset(request) {
      await callStore(() => deletePreset(parts, actorOf(request), scopeOf(request), slugOf(request)));
      return { deleted: true };
    },

    async listPresetVersions(request) {
      const page = readQuery(request, readPage);
      return callStore(async () => {
        const { preset } = await getPreset(management, scopeOf(request), slugOf(request));
        const { rows, total } = await management.listPresetVersions(preset.id, page);
        return { data: rows.map(writePresetVersion), total_count: total };
      });
    },

    async findPresetVersion(request) {
      return callStore(async () => {
        const { preset } = await getPreset(management, scopeOf(request), slugOf(request));
        const version = await getPresetVersion(management, preset, Number(pathParam(request, 'version')));
        return { data: writePresetVersion(version) };
      });
    },

    savePresetFromRequest: (request) => saveFrom(request, readResponsesPreset),
    savePresetFromChat: (request) => saveFrom(request, readChatPreset),
    savePresetFromMessage: (request) => saveFrom(request, readMessagesPreset),
  };
}

const scopeOf = (request: FastifyRequest): PresetScope => {
  const { workspaceId, memberId } = request.caller!; // the route needs a key
  return { workspaceId, memberId };
};

const slugOf = (request: FastifyRequest): string => pathParam(request, 'slug');

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
