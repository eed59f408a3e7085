import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../domain/errors.ts';
import {
  createInternJob,
  type Intern,
  type InternTrigger,
  internTransitions,
  WORKSPACE_ARCHIVE_FAILED,
} from '../../domain/intern.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import type { InternFields } from '../../platform/storage/ports/interns.ts';
import { listChanges } from '../list-changes.ts';
import { getChangeableIntern, type InternCaller } from './find-intern.ts';
import { createInternError, createMissingInternError } from './intern-error.ts';
import type { InternParts } from './parts.ts';
import type { UpdateInternBody } from './schema.ts';

/** Fields of a new attempt. */
const freshFields = { step: null, lastFailureMessage: null, failureReason: null, isStopRequested: false } as const;

/** Requests the first boot, a new attempt after a failure, or the resumption of a suspended intern. */
export const requestProvision = (parts: InternParts, caller: InternCaller, internId: string): Promise<Intern> =>
  changeIntern(parts, caller, internId, {
    trigger: 'provision',
    action: 'intern.provision',
    change: () => ({ fields: { ...freshFields, status: 'queued' }, wakesOwner: true }),
  });

/** Requests the removal. A removal in progress continues. */
export const requestDeletion = (
  parts: InternParts,
  caller: InternCaller,
  internId: string,
  acknowledgesLoss: boolean,
): Promise<Intern> =>
  changeIntern(parts, caller, internId, {
    trigger: 'delete',
    action: 'intern.delete',
    change({ status, failureReason }) {
      if (status === 'destroying') return undefined;
      if (failureReason === WORKSPACE_ARCHIVE_FAILED && !acknowledgesLoss) {
        const text = 'The files of the intern cannot be saved. Delete it with `acknowledge_workspace_loss: true`.';
        throw createInternError('intern_busy', text);
      }
      return { fields: { ...freshFields, acknowledgesLoss, status: 'destroying' }, wakesOwner: true };
    },
  });

/** Changes the configuration. Omitted fields stay. The next provisioning reads it. */
export const updateIntern = (
  parts: InternParts,
  caller: InternCaller,
  internId: string,
  body: UpdateInternBody,
): Promise<Intern> =>
  changeIntern(parts, caller, internId, {
    trigger: 'update',
    action: 'intern.update',
    change(intern) {
      const { name = intern.name } = body;
      const pick = (field: 'description' | 'instructions' | 'model') => (field in body ? body[field] : intern[field]);
      const after = {
        name,
        description: pick('description'),
        instructions: pick('instructions'),
        model: pick('model'),
      };
      const { description, instructions, model } = intern;
      const changes = listChanges({ name: intern.name, description, instructions, model }, after);
      if (Object.keys(changes).length === 0) return undefined;
      // The audit log says that long texts changed, not how.
      const listed = Object.fromEntries(
        Object.entries(changes).map(([field, { before, after: now }]) => [
          field,
          { before: shorten(before), after: shorten(now) },
        ]),
      );
      const fields = Object.fromEntries(Object.entries(after).filter(([field]) => field in changes)) as InternFields;
      return { fields, changes: listed, wakesOwner: false };
    },
  });

const shorten = (value: unknown): unknown =>
  typeof value === 'string' && value.length > 200 ? `${value.slice(0, 200)}…` : value;

/**
 * Stops the runtime, and returns when it has stopped. The owner of the intern does the work.
 *
 * @param signal of the deadline. The request to stop stays
 */
export async function suspendIntern(
  parts: InternParts,
  caller: InternCaller,
  internId: string,
  signal: AbortSignal,
): Promise<void> {
  const requested = await changeIntern(parts, caller, internId, {
    trigger: 'suspend',
    action: 'intern.suspend',
    change: ({ status, isStopRequested }) =>
      status === 'stopped' || isStopRequested ? undefined : { fields: { isStopRequested: true }, wakesOwner: true },
  });
  for (let found: Intern | undefined = requested, waitMs = 10; ; waitMs = Math.min(waitMs * 2, 250)) {
    if (found === undefined) throw createMissingInternError();
    if (found.status === 'stopped') return;
    if (found.status !== 'running') throw createBusyError(found, 'suspend');
    if (!found.isStopRequested) {
      throw new GatewayError(
        'service_unreachable',
        'The runtime did not stop, or its files were not saved. Try again.',
      );
    }
    await sleep(waitMs, undefined, { signal });
    found = await callStore(() => parts.interns.findIntern(internId));
  }
}

interface InternChange {
  trigger: InternTrigger;
  /** The action in the audit log. */
  action: string;
  /** @returns undefined if nothing has to change */
  change: (intern: Intern) => { fields: InternFields; changes?: object; wakesOwner: boolean } | undefined;
}

/** Times that a change starts over, because the owner of the intern has changed its status meanwhile. */
const MAX_TURNS = 10;

/**
 * Makes a change that the table of states allows in the status of the intern.
 *
 * @throws {GatewayError} `not_found`, `conflict`
 */
async function changeIntern(
  parts: InternParts,
  caller: InternCaller,
  internId: string,
  { trigger, action, change }: InternChange,
): Promise<Intern> {
  for (let turn = 0; ; turn++) {
    const intern = await getChangeableIntern(parts, caller, internId);
    if (internTransitions[intern.status][trigger] === undefined || turn === MAX_TURNS) {
      throw createBusyError(intern, trigger);
    }
    const wanted = change(intern);
    if (!wanted) return intern;
    const nowMs = parts.now();
    const {
      fields,
      wakesOwner,
      changes = { status: { before: intern.status, after: fields.status ?? null } },
    } = wanted;
    const event = { action, objectKind: 'intern', objectId: internId, workspaceId: intern.workspaceId };
    const written = await callStore(() =>
      parts.interns.updateIntern({
        id: internId,
        from: [intern.status],
        fields: { ...fields, updatedAtMs: nowMs },
        job: wakesOwner ? createInternJob(internId, nowMs) : undefined,
        audit: {
          change: { atMs: nowMs, actorKeyHash: caller.keyHash },
          event: { ...event, changes: changes as Record<string, { before: unknown; after: unknown }> },
        },
      }),
    );
    if (written === 'name') {
      throw createInternError('name_taken', `You already have an intern named "${fields.name}" in this workspace.`);
    }
    if (!written) continue;
    if (wakesOwner) parts.notify(internId);
    return written;
  }
}

const createBusyError = ({ status }: Intern, trigger: string): GatewayError =>
  createInternError('intern_busy', `The intern is ${status}. Its status does not allow ${trigger}.`);
