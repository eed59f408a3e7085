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
import { actorOf, managementRoutes } from '../management/route.ts';
import { offset, wordParameter, workspaceId } from '../../openapi/parameters.ts';
import { deleted } from '../../openapi/shapes.ts';
import { currentKey, createdKey, keyList, oneKey, rotatedKey } from './shapes.ts';

const KEYS_PER_PAGE = 100;

const route = managementRoutes('Keys');

/**
 * Inference keys, for management keys. Management keys are created with `headgate keys create` or in the configuration.
 *
 * @see docs/reference/management.md#keys
 */
export const keyRoutes = [
  route('GET', '/keys', {
    id: 'listKeys',
    summary: 'List the keys',
    query: {
      offset,
      include_disabled: wordParameter('Whether disabled keys are included.', 'true', 'false'),
      workspace_id: workspaceId,
    },
    response: { description: 'A page of 100 keys.', schema: keyList },
    handle: async (parts, { request }) => {
      const query = readQuery(request, (reader) => ({
        offset: readOffset(reader),
        limit: KEYS_PER_PAGE,
        includeDisabled: reader.word('include_disabled', ['true', 'false']) === 'true',
        workspaceId: reader.text('workspace_id'),
      }));
      return { data: (await callStore(() => listKeys(parts, query))).map(writeKey) };
    },
  }),
  route('POST', '/keys', {
    id: 'createKey',
    summary: 'Create a key',
    body: { check: checkCreateKey, example: { name: 'shop', limit: 10, limit_reset: 'monthly' } },
    response: { status: 201, description: 'The key. It is not shown again.', schema: createdKey },
    statuses: [409],
    handle: async (parts, { request, reply, body }) => {
      const { key, text } = await callStore(() => createKey(parts, actorOf(request), body));
      reply.header('cache-control', 'no-store');
      return { data: writeKey({ key, spending: zeroSpending }), key: text };
    },
  }),
  route('GET', '/keys/:hash', {
    id: 'findKey',
    summary: 'Find a key',
    response: { description: 'The key.', schema: oneKey },
    handle: async (parts, { request, params }) => {
      return { data: writeKey(await callStore(() => getKey(parts, actorOf(request), params.hash))) };
    },
  }),
  route('PATCH', '/keys/:hash', {
    id: 'updateKey',
    summary: 'Change a key',
    body: { check: checkUpdateKey, example: { disabled: true } },
    response: { description: 'The key.', schema: oneKey },
    statuses: [409],
    handle: async (parts, { request, params, body }) => {
      const found = await callStore(async () => {
        const { after } = await updateKey(parts, actorOf(request), params.hash, body);
        return withSpending(parts, after);
      });
      return { data: writeKey(found) };
    },
  }),
  route('DELETE', '/keys/:hash', {
    id: 'deleteKey',
    summary: 'Delete a key',
    response: deleted,
    statuses: [409],
    handle: async (parts, { request, params }) => {
      await callStore(() => deleteKey(parts, actorOf(request), params.hash));
      return { deleted: true as const };
    },
  }),
  route('POST', '/keys/:hash/rotate', {
    id: 'rotateKey',
    summary: 'Replace a key',
    description: 'The old key stays valid for `grace_seconds`.',
    body: { check: checkRotateKey, isOptional: true, example: { grace_seconds: 3600 } },
    response: { status: 201, description: 'The new key and the old one.', schema: rotatedKey },
    statuses: [409],
    bodyIsOptional: true,
    handle: async (parts, { request, reply, params, body }) => {
      const { grace_seconds: graceSeconds = 0 } = body;
      const { key, text, previous } = await callStore(async () => {
        const rotated = await rotateKey(parts, actorOf(request), params.hash, { graceSeconds });
        return { ...rotated, previous: await withSpending(parts, rotated.previous) };
      });
      reply.header('cache-control', 'no-store');
      return { data: writeKey({ key, spending: zeroSpending }), key: text, previous: writeKey(previous) };
    },
  }),
  route('GET', '/key', {
    id: 'findCurrentKey',
    summary: 'Read the key of the request',
    permission: 'any',
    takesInterns: true,
    response: { description: 'The key, its limits and its usage.', schema: currentKey },
    handle: async (parts, { request }) => {
      const found = await callStore(async () => {
        const key = await parts.management.findKey(request.caller!.keyHash);
        return key && withSpending(parts, key);
      });
      // Deleted since the request was authenticated.
      if (!found) throw new GatewayError('authentication', 'Invalid or missing API key.');
      return { data: writeCurrentKey(found) };
    },
  }),
];
