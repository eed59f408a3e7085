import type { FastifyReply, FastifyRequest } from 'fastify';
import { askStore } from '../../platform/storage/ask-store.ts';
import type {
  AccessStore,
  FieldChange,
  LedgerStore,
  ManagementStore,
  ManagementTransaction,
} from '../../platform/storage/storage.ts';
import type { ModelWorld } from '../workspaces/find-unknown-models.ts';

/** What the management API stands on. */
export interface ManagementParts {
  management: ManagementStore;
  access: Pick<AccessStore, 'listKeys' | 'listAppliedGuardrails'>;
  ledger: Pick<LedgerStore, 'readSpending' | 'readActivity'>;
  /** The models and providers that there are now. */
  world: () => ModelWorld;
  /** Takes keys over that changed; other processes do so within a second by themselves. */
  refreshAccess: () => Promise<void>;
}

export type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/**
 * Makes a change in the name of the caller: in one transaction, with what `work` records of it.
 *
 * @throws {GatewayError} what `work` throws, with nothing changed
 */
export async function makeChange<Result>(
  { management, refreshAccess }: ManagementParts,
  request: FastifyRequest,
  work: (transaction: ManagementTransaction, nowMs: number) => Promise<Result>,
): Promise<Result> {
  const nowMs = Date.now();
  const change = { atMs: nowMs, actorKeyHash: request.caller!.keyHash };
  const result = await askStore(() => management.change(change, (transaction) => work(transaction, nowMs)));
  // The change stands: were the store gone since, the next poll would bring it.
  await refreshAccess().catch(() => {});
  return result;
}

/** The fields in which two objects differ; undefined for one that was not, or is no more. */
export function listChanges(before: object | undefined, after: object | undefined): Record<string, FieldChange> {
  const [old, now] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after ?? {}))];
  const names = [...new Set([...old.keys(), ...now.keys()])];
  const changed = names.filter((name) => JSON.stringify(old.get(name)) !== JSON.stringify(now.get(name)));
  return Object.fromEntries(
    changed.map((name) => [name, { before: old.get(name) ?? null, after: now.get(name) ?? null }]),
  );
}

export const writeTime = (ms: number): string => new Date(ms).toISOString();
export const writeNullableTime = (ms: number | null): string | null => (ms === null ? null : writeTime(ms));

/** A parameter of the path. */
export const param = (request: FastifyRequest, name: string): string =>
  (request.params as Record<string, string>)[name]!; // the row of the route names it
