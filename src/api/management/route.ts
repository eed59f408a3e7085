import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AlertSettingsReader } from '../../alerts/alert-settings.ts';
import type { Alert } from '../../alerts/find-alerts.ts';
import { routesOf } from '../../http/define-route.ts';
import type { Tag } from '../../http/operation.ts';
import type { Actor, ManagementParts } from '../../management/parts.ts';
import type { ModelRoutingContext } from '../../management/workspaces/find-unknown-models.ts';
import type { AlertStore } from '../../platform/storage/ports/alerts.ts';
import type { LedgerStore } from '../../platform/storage/ports/ledger.ts';
import type { TextSeal } from '../../vault/text-seal.ts';
import type { HashEndUser } from './read-end-user.ts';

/** The dependencies of the handlers of the management API. */
export interface ManagementApiParts extends ManagementParts {
  ledger: ManagementParts['ledger'] & Pick<LedgerStore, 'readActivity' | 'readUsage'>;
  /** Resolves when every generation so far is in the store. */
  flushLedger: () => Promise<void>;
  hashEndUser: HashEndUser;
  alerts: {
    list: AlertStore['listAlerts'];
    raise(alert: Alert, webhooks: readonly string[]): Promise<unknown>;
    settings: Pick<AlertSettingsReader, 'read'>;
    /** Seals the webhooks that are added. */
    seal: () => TextSeal;
  };
  /** Returns the models and providers that exist now. Undefined: they are unknown, so no name of them is checked. */
  routingContext: () => ModelRoutingContext | undefined;
}

export type ManagementHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** The caller of a request, as the use cases know it. */
export const actorOf = (request: FastifyRequest): Actor => ({ keyHash: request.caller!.keyHash });

/** A parameter of the path. */
export const pathParam = (request: FastifyRequest, name: string): string =>
  (request.params as Record<string, string>)[name]!; // the row of the route names it

/** @see docs/reference/http.md */
export const managementBodyLimit = { bytes: 1024 * 1024, source: 'fixed for management' };

/** Routes for management keys. */
export const managementApi = {
  base: '/api/v1',
  permission: 'management',
  limitBody: () => managementBodyLimit,
} as const;

/** Returns a function that defines routes for management keys. */
export const managementRoutes = (tag: Tag) => routesOf<ManagementApiParts>({ ...managementApi, tag });
