import type { FastifyRequest } from 'fastify';
import { DEFAULT_WORKSPACE } from '../../access/bootstrap.ts';
import { createKeyLabel, createKeyText, hashKey } from '../../access/key-text.ts';
import { currentTimeMs } from '../../domain/clock.ts';
import { GatewayError, type Issue, invalidRequest } from '../../domain/errors.ts';
import { nanoUsdOf } from '../../metering/cost.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { defaultKeySettings, type KeyRecord } from '../../platform/storage/ports/keys.ts';
import type { ManagementTransaction } from '../../platform/storage/ports/management.ts';
import type { WorkspaceDetails } from '../../platform/storage/ports/workspaces.ts';
import { applyChange } from '../management/change.ts';
import { readRateLimits, writeRateLimits } from '../../management/rate-limit-fields.ts';
import { readOffset, readQuery } from '../management/read-query.ts';
import { type ManagementHandler, type ManagementParts, pathParam } from '../management/route-handler.ts';
import { explainUnknownWorkspace } from '../../management/workspaces/find-workspace.ts';
import { createKey, deleteKey, rotateKey, updateKey } from '../../management/keys/change-key.ts';
import { type CreateKeyBody, checkCreateKey, checkRotateKey, checkUpdateKey } from '../../management/keys/schema.ts';
import {
  readKeySpending,
  writeKey,
  writeKeyAmounts,
  writeKeySettings,
  zeroSpending,
} from '../../management/keys/write-key.ts';

const KEYS_PER_PAGE = 100;

/**
 * Inference keys, as management keys see them. Management keys are none of theirs: they are made with `headgate keys
 * create` or in the configuration.
 *
 * @see docs/reference/management.md#keys
 */
export function createKeyHandlers(
  parts: ManagementParts,
): Record<
  'listKeys' | 'createKey' | 'findKey' | 'updateKey' | 'deleteKey' | 'rotateKey' | 'findCurrentKey',
  ManagementHandler
> {
  const { management, ledger } = parts;
  const writeAll = async (keys: readonly KeyRecord[]) => {
    const hashes = keys.map(({ hash }) => hash);
    const spending = await readKeySpending(ledger, hashes, currentTimeMs());
    return keys.map((key, at) => writeKey(key, spending[at]!));
  };
  const write = async (key: KeyRecord) => (await writeAll([key]))[0]!;

  return {
    async listKeys(request) {
      const query = readQuery(request, (reader) => ({
        offset: readOffset(reader),
        limit: KEYS_PER_PAGE,
        includeDisabled: reader.word('include_disabled', ['true', 'false']) === 'true',
        workspaceId: reader.text('workspace_id'),
      }));
      return callStore(async () => ({ data: await writeAll(await management.listKeys(query)) }));
    },

    async createKey(request, reply) {
      const body = checkCreateKey(request.body);
      const text = createKeyText('inference');
      const key = await applyChange(parts, request, async (transaction, nowMs) => {
        const created = await planKey(transaction, body, text, nowMs);
        await createKey(transaction, created);
        return created;
      });
      reply.code(201).header('cache-control', 'no-store');
      return { data: writeKey(key, zeroSpending), key: text };
    },

    findKey: (request) =>
      callStore(async () => {
        const key = await getKey(management, request);
        return { data: await write(key) };
      }),

    async updateKey(request) {
      const body = checkUpdateKey(request.body);
      const key = await applyChange(parts, request, async (transaction, nowMs) => {
        const before = await getKey(transaction, request);
        const after: KeyRecord = {
          ...before,
          name: body.name ?? before.name,
          disabled: body.disabled ?? before.disabled,
          limitNanoUsd: body.limit === undefined ? before.limitNanoUsd : readLimit(body.limit),
          limitReset: body.limit_reset === undefined ? before.limitReset : body.limit_reset,
          includeByokInLimit: body.include_byok_in_limit ?? before.includeByokInLimit,
          rateLimits: readRateLimits(body, before.rateLimits),
        };
        return updateKey(transaction, before, after, nowMs);
      });
      return callStore(async () => ({ data: await write(key) }));
    },

    async deleteKey(request) {
      await applyChange(parts, request, async (transaction) => {
        await deleteKey(transaction, await getKey(transaction, request));
      });
      return { deleted: true };
    },

    async rotateKey(request, reply) {
      const { grace_seconds: graceSeconds = 0 } = request.body === undefined ? {} : checkRotateKey(request.body);
      const text = createKeyText('inference');
      const { before, after } = await applyChange(parts, request, async (transaction, nowMs) => {
        const old = await getKey(transaction, request);
        return rotateKey(transaction, old, { text, graceSeconds, nowMs });
      });
      reply.code(201).header('cache-control', 'no-store');
      return callStore(async () => ({
        data: writeKey(after, zeroSpending),
        key: text,
        previous: await write(before),
      }));
    },

    findCurrentKey: (request) =>
      callStore(async () => {
        const key = await management.findKey(request.caller!.keyHash);
        // Deleted since it was let in.
        if (!key) throw new GatewayError('authentication', 'Invalid or missing API key.');
        const [spending] = await readKeySpending(ledger, [key.hash], currentTimeMs());
        const { limit, limit_reset, include_byok_in_limit, creator_user_id, expires_at } = writeKeySettings(key);
        const isManagement = key.kind === 'management';
        return {
          data: {
            label: key.label,
            ...{ limit, limit_reset, include_byok_in_limit, creator_user_id, expires_at },
            ...writeKeyAmounts(key, spending!),
            ...writeRateLimits(key.rateLimits),
            is_free_tier: false,
            is_management_key: isManagement,
            is_provisioning_key: isManagement,
            organization_id: null, // there is one, without an id
            workspace_id: isManagement ? null : key.workspaceId,
            rate_limit: {
              requests: key.rateLimits.requests_per_minute || -1,
              interval: '1m',
              note: 'This field is deprecated; see requests_per_minute. -1: the key has no limit of its own.',
            },
            allowed_data_regions: ['global'],
            free_model_daily_requests: { used: 0, limit: -1, remaining: -1 }, // -1: not limited
          },
        };
      }),
  };
}

const readLimit = (dollars: number | null | undefined): bigint | null =>
  dollars === null || dollars === undefined ? null : nanoUsdOf(dollars);

/** @throws {GatewayError} `not_found`, also for a management key */
async function getKey(
  from: { findKey(hash: string): Promise<KeyRecord | undefined> },
  request: FastifyRequest,
): Promise<KeyRecord> {
  const hash = pathParam(request, 'hash');
  const key = await from.findKey(hash);
  if (!key || key.kind === 'management') {
    throw new GatewayError('not_found', `There is no inference key with the hash ${hash.slice(0, 64)}.`);
  }
  return key;
}

/** The key that a body asks for. @throws {GatewayError} `invalid_request` when it names what is not there */
async function planKey(
  transaction: ManagementTransaction,
  body: CreateKeyBody,
  text: string,
  nowMs: number,
): Promise<KeyRecord> {
  const issues: Issue[] = [];
  const workspace = await findOwnWorkspace(transaction, body, issues);
  const memberId = body.creator_user_id ?? null;
  if (memberId !== null) await checkMember(transaction, memberId, workspace, issues);
  const expiresAtMs = body.expires_at == null ? null : Date.parse(body.expires_at);
  if (expiresAtMs !== null && expiresAtMs <= nowMs) {
    issues.push({ path: 'expires_at', message: `\`expires_at\` is over: ${body.expires_at}; it must lie ahead.` });
  }
  if (body.external?.api_key !== undefined) {
    const message = '`api_key` is not offered here: keys are made by the gateway. Leave it out.';
    issues.push({ path: 'external.api_key', message });
  }
  if (issues.length > 0 || !workspace) throw invalidRequest(issues);
  return {
    ...defaultKeySettings,
    hash: hashKey(text),
    name: body.name,
    label: createKeyLabel(text),
    kind: memberId === null ? 'organization' : 'member',
    workspaceId: workspace.id,
    memberId,
    disabled: false,
    createdAtMs: nowMs,
    expiresAtMs,
    limitNanoUsd: readLimit(body.limit),
    limitReset: body.limit_reset ?? null,
    includeByokInLimit: body.include_byok_in_limit ?? false,
    rateLimits: readRateLimits(body),
    creatorUserId: memberId,
    externalUser: body.external?.user ?? null,
  };
}

async function findOwnWorkspace(
  transaction: ManagementTransaction,
  { workspace_id: id }: CreateKeyBody,
  issues: Issue[],
): Promise<WorkspaceDetails | undefined> {
  if (id === undefined) {
    const found = await transaction.findDefaultWorkspace(DEFAULT_WORKSPACE);
    if (!found) issues.push({ path: 'workspace_id', message: 'There is no workspace yet; make one first.' });
    return found;
  }
  const found = await transaction.findWorkspace(id);
  if (found?.id === id) return found; // a slug is no id
  issues.push({ path: 'workspace_id', message: explainUnknownWorkspace(id, found) });
  return undefined;
}

/** Every member is in the default workspace. @see docs/reference/management.md#members */
async function checkMember(
  transaction: ManagementTransaction,
  memberId: string,
  workspace: WorkspaceDetails | undefined,
  issues: Issue[],
): Promise<void> {
  const path = 'creator_user_id';
  if (!(await transaction.findMember(memberId))) {
    issues.push({ path, message: `\`creator_user_id\` names no member: ${JSON.stringify(memberId)}.` });
    return;
  }
  if (!workspace || (await transaction.findDefaultWorkspace(DEFAULT_WORKSPACE))?.id === workspace.id) return;
  if ((await transaction.findWorkspaceMembers(workspace.id, [memberId])).length > 0) return;
  const message = `\`creator_user_id\` names a member who is not in the workspace ${workspace.slug}: ${JSON.stringify(memberId)}.`;
  issues.push({ path, message });
}
