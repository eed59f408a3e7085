import { GatewayError } from '../../domain/errors.ts';
import { createKey } from '../../management/keys/create-key.ts';
import { deleteKey } from '../../management/keys/delete-key.ts';
import { getKey, listKeys, withSpending } from '../../management/keys/find-key.ts';
import { zeroSpending } from '../../management/keys/read-key-spending.ts';
import { rotateKey } from '../../management/keys/rotate-key.ts';
import { checkCreateKey, checkRotateKey, checkUpdateKey } from '../../management/keys/schema.ts';
import { updateKey } from '../../management/keys/update-key.ts';
import { writeCurrentKey, writeKey } from '../../management/keys/write-key.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { readOffset, readQuery } from '../management/read-query.ts';
import { actorOf, type ManagementApiParts, type ManagementHandler, pathParam } from '../management/route-handler.ts';

const KEYS_PER_PAGE = 100;

/**
 * Inference keys, for management keys. Management keys are created with `headgate keys create` or in the configuration.
 *
 * @see docs/reference/management.md#keys
 */
export function createKeyHandlers(
  parts: ManagementApiParts,
): Record<
  'listKeys' | 'createKey' | 'findKey' | 'updateKey' | 'deleteKey' | 'rotateKey' | 'findCurrentKey',
  ManagementHandler
> {
  return {
    async listKeys(request) {
      const query = readQuery(request, (reader) => ({
        offset: readOffset(reader),
        limit: KEYS_PER_PAGE,
        includeDisabled: reader.word('include_disabled', ['true', 'false']) === 'true',
        workspaceId: reader.text('workspace_id'),
      }));
      return { data: (await callStore(() => listKeys(parts, query))).map(writeKey) };
    },

    async createKey(request, reply) {
      const body = checkCreateKey(request.body);
      const { key, text } = await callStore(() => createKey(parts, actorOf(request), body));
      reply.code(201).header('cache-control', 'no-store');
      return { data: writeKey({ key, spending: zeroSpending }), key: text };
    },

    async findKey(request) {
      return { data: writeKey(await callStore(() => getKey(parts, actorOf(request), pathParam(request, 'hash')))) };
    },

    async updateKey(request) {
      const body = checkUpdateKey(request.body);
      const found = await callStore(async () => {
        const { after } = await updateKey(parts, actorOf(request), pathParam(request, 'hash'), body);
        return withSpending(parts, after);
      });
      return { data: writeKey(found) };
    },

    async deleteKey(request) {
      await callStore(() => deleteKey(parts, actorOf(request), pathParam(request, 'hash')));
      return { deleted: true };
    },

    async rotateKey(request, reply) {
      const { grace_seconds: graceSeconds = 0 } = checkRotateKey(request.body === undefined ? {} : request.body);
      const hash = pathParam(request, 'hash');
      const { key, text, previous } = await callStore(async () => {
        const rotated = await rotateKey(parts, actorOf(request), hash, { graceSeconds });
        return { ...rotated, previous: await withSpending(parts, rotated.previous) };
      });
      reply.code(201).header('cache-control', 'no-store');
      return { data: writeKey({ key, spending: zeroSpending }), key: text, previous: writeKey(previous) };
    },

    async findCurrentKey(request) {
      const found = await callStore(async () => {
        const key = await parts.management.findKey(request.caller!.keyHash);
        return key && withSpending(parts, key);
      });
      // Deleted since the request was authenticated.
      if (!found) throw new GatewayError('authentication', 'Invalid or missing API key.');
      return { data: writeCurrentKey(found) };
    },
  };
}
