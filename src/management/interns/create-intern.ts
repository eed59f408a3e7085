import { hash, randomUUID } from 'node:crypto';
import { GatewayError } from '../../domain/errors.ts';
import { createInternJob, type Intern } from '../../domain/intern.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { InternRefusal } from '../../platform/storage/ports/interns.ts';
import { canSeeIntern, type InternCaller } from './find-intern.ts';
import { createInternError, createMissingInternError } from './intern-error.ts';
import type { InternParts } from './parts.ts';
import type { CreateInternBody } from './schema.ts';

export interface CreatedIntern {
  intern: Intern;
  /** Whether an earlier request had already done everything. */
  isReplay: boolean;
}

/**
 * Creates an intern with its vault, and requests its start. A retry continues an unfinished creation.
 *
 * @param key the header `Idempotency-Key`; undefined: a request with the same body is a retry
 * @throws {GatewayError} `not_found` for another workspace, `permission_denied` for a key without a member, `conflict`,
 *   `service_unreachable` if the vault was not created: the row exists, and the same request continues
 */
export async function createIntern(
  parts: InternParts,
  caller: InternCaller,
  { body, key }: { body: CreateInternBody; key: string | undefined },
): Promise<CreatedIntern> {
  const workspaceId = caller.workspaceId;
  if (body.workspace_id.toLowerCase() !== workspaceId.toLowerCase() || caller.internId !== undefined) {
    throw new GatewayError('not_found', 'There is no workspace with this id for the key.');
  }
  if (caller.memberId === null) {
    throw createInternError('no_acting_user', 'The key acts as the organization. Use the key of a member to create.');
  }
  const attachedVaultId = body.vault_id?.toLowerCase() ?? null;
  const lending = attachedVaultId === null ? 'open' : await findLending(parts, caller, attachedVaultId);
  const bodyHash = hashBody(body);
  const nowMs = parts.now();
  const added = await callStore(() =>
    parts.interns.addIntern({
      intern: {
        id: randomUUID(),
        workspaceId,
        creatorId: caller.memberId!,
        name: body.name,
        description: body.description ?? null,
        instructions: body.instructions ?? null,
        model: null,
        status: 'awaiting_chat_install',
        hostname: null,
        vaultId: randomUUID(),
        hasVault: false,
        attachedVaultId,
        step: null,
        lastFailureMessage: null,
        failureReason: null,
        runtimeAddress: null,
        isStopRequested: false,
        acknowledgesLoss: false,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      },
      requestHash: hash('sha256', key === undefined ? `body ${bodyHash}` : `key ${key}`),
      bodyHash,
      canAttach: lending === 'open',
      maxPerMember: parts.maxPerMember(),
      change: { atMs: nowMs, actorKeyHash: caller.keyHash },
    }),
  );
  if (added.refusal !== undefined)
    throw explainRefusal(added.refusal, { body, lending, maxPerMember: parts.maxPerMember() });
  const { intern, isNew } = added;
  const isUnfinished = !intern.hasVault && intern.status === 'awaiting_chat_install';
  if (!isNew && !isUnfinished) return { intern, isReplay: true };
  return { intern: await finishCreation(parts, intern, body.provision === true), isReplay: false };
}

/** Creates the vault, and then requests the start. Both can be done again. */
async function finishCreation(parts: InternParts, intern: Intern, isStarted: boolean): Promise<Intern> {
  const { id: internId, vaultId, workspaceId } = intern;
  await callVault(parts.vaults.create({ vaultId, internId, workspaceId }));
  const nowMs = parts.now();
  const finished = await callStore(() =>
    parts.interns.updateIntern({
      id: internId,
      from: ['awaiting_chat_install'],
      fields: { hasVault: true, updatedAtMs: nowMs, ...(isStarted && { status: 'queued' as const }) },
      job: isStarted ? createInternJob(internId, nowMs) : undefined,
    }),
  );
  if (finished && finished !== 'name') {
    if (isStarted) parts.notify(internId);
    return finished;
  }
  // Another request has provisioned or deleted it meanwhile.
  const found = await callStore(() => parts.interns.findIntern(internId));
  if (found && found.status !== 'destroying') return found;
  await callVault(parts.vaults.destroy(vaultId)); // the removal of the intern may have been before the creation of the vault
  if (!found) throw createMissingInternError();
  return found;
}

async function callVault<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof GatewayError && cause.status < 500) throw cause;
    const text = 'The vault of the intern is not ready. Send the same request again: it continues.';
    throw new GatewayError('service_unreachable', text, { cause });
  }
}

/** The hash of a body with all defaults, in a fixed order. */
function hashBody(body: CreateInternBody): string {
  const { name, description = null, instructions = null, provision = false, vault_id = null, workspace_id } = body;
  const ids = { vault_id: vault_id?.toLowerCase() ?? null, workspace_id: workspace_id.toLowerCase() };
  return hash('sha256', JSON.stringify({ description, instructions, name, provision, ...ids }));
}

/** Whether a vault can be borrowed. `hidden`: the caller sees no intern that owns it. `ending`: its intern is being removed. */
type Lending = 'open' | 'hidden' | 'ending';

async function findLending({ interns }: InternParts, caller: InternCaller, vaultId: string): Promise<Lending> {
  const lender = await callStore(() => interns.findInternByVault(vaultId));
  if (!lender?.hasVault || !canSeeIntern(caller, lender)) return 'hidden';
  return lender.status === 'destroying' || lender.status === 'destroy_failed' ? 'ending' : 'open';
}

interface RefusedCreation {
  body: CreateInternBody;
  lending: Lending;
  maxPerMember: number;
}

function explainRefusal(
  refusal: InternRefusal,
  { body: { name }, lending, maxPerMember }: RefusedCreation,
): GatewayError {
  switch (refusal) {
    case 'body':
      return createInternError(
        'idempotency_key_reused',
        'The Idempotency-Key was used with another body. Use a new key for another intern.',
      );
    case 'name':
      return createInternError('name_taken', `You already have an intern named "${name}" in this workspace.`);
    case 'limit':
      return createInternError(
        'intern_limit_reached',
        `The member has ${maxPerMember} interns (interns.max_per_member). Delete one first.`,
      );
    case 'vault':
      return lending === 'ending'
        ? createInternError('intern_busy', 'The intern of `vault_id` is being removed. Its vault cannot be borrowed.')
        : new GatewayError('not_found', '`vault_id` is not the vault of an intern that the key sees.');
    case 'workspace':
      return new GatewayError('not_found', 'There is no workspace with this id for the key.');
  }
}
