import { createSessionCheck } from '../../api/console/identify-session.ts';
import { createContainerHandlers } from '../../api/containers/handlers.ts';
import { createFileHandlers } from '../../api/files/handlers.ts';
import { createContentHandler } from '../../api/generation/content.ts';
import { createExportGenerationsHandler } from '../../api/generation/export.ts';
import { createFeedbackHandlers } from '../../api/generation/feedback.ts';
import { createGenerationHandler } from '../../api/generation/handler.ts';
import { createListGenerationsHandler } from '../../api/generation/list.ts';
import { createLiveGenerationsHandler } from '../../api/generation/live.ts';
import type { ApiParts } from '../../api/routes.ts';
import { type PrimaryService, serviceNames } from '../../workers/services.ts';
import { findVendorAccount } from '../find-vendor-account.ts';
import type { AlertParts } from '../open-alerts.ts';
import type { Base } from '../open-base.ts';
import type { LiveModels } from '../open-models.ts';
import type { Inference } from './inference.ts';

/** The stored records of the gateway: generations, files, containers, and everything that management keys administer. */
export interface Records {
  routes: Pick<ApiParts, 'generations' | 'management' | 'files' | 'containers'>;
}

/** Opens the APIs of stored records. */
export function openRecords(
  base: Base,
  live: LiveModels,
  { hashEndUser, alerts }: Pick<Inference, 'hashEndUser'> & { alerts: AlertParts },
): Records {
  const { config, storage, accounting, accounts, files, management, state } = base;
  const { ledger, contents } = accounting;
  const primary = base.options.slot?.primary.use<PrimaryService>(serviceNames.primary);

  /** Stores the entries and contents of all workers. */
  async function flushAll(): Promise<void> {
    if (!primary) return accounting.flush();
    await primary.flush().catch(() => {}); // if the primary has ended, the store reports it
  }
  /** Searches again after a flush, because another worker may not have stored it yet. */
  async function lookTwice<Found>(find: () => Promise<Found | undefined>): Promise<Found | undefined> {
    const found = await find();
    if (found || !primary) return found;
    await flushAll();
    return find();
  }
  return {
    routes: {
      generations: {
        findGeneration: createGenerationHandler((workspaceId, id) => lookTwice(() => ledger.find(workspaceId, id))),
        listGenerations: createListGenerationsHandler({ ledger: storage.ledger, flushLedger: flushAll, hashEndUser }),
        liveGenerations: createLiveGenerationsHandler({
          ledger: storage.ledger,
          flushLedger: flushAll,
          hashEndUser,
          findCaller: accounts.access.findCaller,
          isSessionOpen: createSessionCheck(storage.console),
          isDraining: () => state.phase !== 'serving',
          keepAliveMs: () => config().server.keep_alive_comment_ms,
        }),
        exportGenerations: createExportGenerationsHandler({
          ledger: storage.ledger,
          contents: storage.contents,
          flushLedger: flushAll,
          hashEndUser,
          findCaller: accounts.access.findCaller,
          isDraining: () => state.phase !== 'serving',
        }),
        findContent: createContentHandler((id) => lookTwice(() => contents.find(id))),
        ...createFeedbackHandlers({ contents: storage.contents, flushLedger: flushAll }),
      },
      management: {
        ...management,
        ledger: storage.ledger,
        flushLedger: flushAll,
        hashEndUser,
        routingContext: live.routingContext,
        alerts: {
          list: storage.alerts.listAlerts,
          raise: alerts.raise,
          settings: alerts.settings,
          seal: () => alerts.seal,
        },
      },
      files: createFileHandlers({
        ...files,
        workspaces: storage.management,
        maxUploads: () => config().files.parallel_uploads,
        findVendorAccount: (vendor, workspaceId) => findVendorAccount(config(), live.models(), vendor, workspaceId),
        requestMs: () => config().timeouts.request_ms,
      }),
      containers: createContainerHandlers({
        containers: storage.containers,
        files,
        owner: () => config().tools.sandbox.owner,
        admit: accounts.admit,
      }),
    },
  };
}
