import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccessStore } from '../../platform/storage/ports/access.ts';
import type { LedgerStore } from '../../platform/storage/ports/ledger.ts';
import type { ManagementStore } from '../../platform/storage/ports/management.ts';
import type { ModelRoutingContext } from '../../management/workspaces/find-unknown-models.ts';

/** What the management API stands on. */
export interface ManagementParts {
  management: ManagementStore;
  access: Pick<AccessStore, 'listKeys' | 'listAppliedGuardrails'>;
  ledger: Pick<LedgerStore, 'readSpending' | 'readActivity'>;
  /** The models and providers that there are now. */
  routingContext: () => ModelRoutingContext;
  /** Takes keys over that changed; other processes do so within a second by themselves. */
  refreshAccess: () => Promise<void>;
}

export type ManagementHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** A parameter of the path. */
export const pathParam = (request: FastifyRequest, name: string): string =>
  (request.params as Record<string, string>)[name]!; // the row of the route names it
