import type { FastifyReply, FastifyRequest } from 'fastify';
import { ALERT_SEAL, type AlertSettingsReader, createAlertSettings } from '../../alerts/alert-settings.ts';
import { createRaiseAlert } from '../../alerts/raise-alert.ts';
import type { ManagementApiParts } from '../../api/management/route.ts';
import { resourceRoutes } from '../../api/resource-routes.ts';
import { createEndUserHash } from '../../access/hash-end-user.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Path } from '../../config/path.ts';
import type { Caller } from '../../domain/caller.ts';
import { currentTimeMs } from '../../domain/clock.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { DefinedRoute } from '../../http/define-route.ts';
import type { Route } from '../../http/routes.ts';
import type { Storage } from '../../platform/storage/storage.ts';
import { createTextSeal } from '../../vault/text-seal.ts';
import { readStore, requireStore, withStore } from '../open-store.ts';
import { createParts, operator } from '../operate.ts';
import { readIssues } from '../read-issues.ts';
import { readNeededMasterKeys } from '../read-needed-master-keys.ts';
import { resolveWorkspace } from '../resolve-workspace.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import type { ResourceCommand } from './definition.ts';

/** A call of a route. */
export interface RouteCallInput {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
  /** A form. */
  raw?: NodeJS.ReadableStream & { headers: Record<string, string> };
}

export interface RouteResult {
  status: number;
  content: unknown;
}

export interface Resources {
  storage: Storage;
  loaded: LoadedConfig;
  caller: Caller;
  /** Calls the handler of a route. @throws {CommandError} with the message of its error */
  call(id: string, input: RouteCallInput): Promise<RouteResult>;
}

export interface OpenOptions {
  /** Name, slug or id. Absent: the default workspace. */
  workspace?: string | undefined;
  member?: string | undefined;
  /** The id of an intern, which can be of another workspace. */
  intern?: string | undefined;
  /** A container, which its owner uses. */
  container?: string | undefined;
  routingContext: ManagementApiParts['routingContext'];
  /** Whether no call changes anything. */
  isReading: boolean;
}

/** The settings that the parts of each API need. */
export const neededSettings: Record<string, readonly Path[]> = {
  files: [['files']],
  containers: [['files'], ['tools', 'sandbox', 'owner']],
  vaults: [['secrets']],
  interns: [['secrets'], ['interns']],
  schedules: [['secrets'], ['interns']],
};

const alertSettings: readonly Path[] = [['alerts'], ['secrets']];

/** Those of single routes, by their ids. The other routes of management need only the store. */
export const neededByRoute: Readonly<Record<string, readonly Path[]>> = {
  listActivity: [], // it hashes end users
  readAlertSettings: alertSettings,
  changeAlertSettings: alertSettings,
  putAlertWebhook: alertSettings,
  deleteAlertWebhook: alertSettings,
  testAlert: alertSettings,
};

/** Time of one call. A gateway saves the files of an intern before it stops it. */
const DEADLINE_MS = 90_000;

/**
 * Opens the configured store, and the handlers of the API on it. They are those of a gateway. A running gateway follows within
 * a second.
 */
export function withResources<Result>(
  { stderr }: Pick<Terminal, 'stderr'>,
  loaded: LoadedConfig,
  { isScoped }: Pick<ResourceCommand, 'isScoped'>,
  options: OpenOptions,
  use: (resources: Resources) => Promise<Result>,
): Promise<Result> {
  if (isScoped) requireStore(loaded.config);
  const open = options.isReading && !isScoped ? readStore : withStore;
  return open({ config: loaded.config, stderr }, async (storage) => {
    const caller = await createCaller(storage, isScoped === true, options);
    const open = createOpeners(storage, loaded, options);
    const handlers = new Map<string, Promise<Route['handler']>>();
    const find = (id: string): Promise<Route['handler']> => {
      const known = handlers.get(id);
      if (known) return known;
      const opened = openHandler(id, open);
      handlers.set(id, opened);
      return opened;
    };
    return use({
      storage,
      loaded,
      caller,
      call: async (id, input) => callHandler(await find(id), caller, input),
    });
  });
}

type Openers = { [Api in keyof typeof resourceRoutes]: () => Promise<PartsOf<(typeof resourceRoutes)[Api]>> };
type PartsOf<Defined> = Defined extends readonly DefinedRoute<infer Parts>[] ? Parts : never;

async function openHandler(id: string, open: Openers): Promise<Route['handler']> {
  for (const [api, routes] of Object.entries(resourceRoutes)) {
    const route = (routes as readonly DefinedRoute<unknown>[]).find(({ operation }) => operation?.id === id);
    if (route) return route.bind(await open[api as keyof Openers]()).handler;
  }
  throw new Error(`There is no route ${id}.`);
}

/** Creates the parts of each API when it is called. Loads nothing of the others. */
function createOpeners(storage: Storage, loaded: LoadedConfig, { routingContext, isReading }: OpenOptions): Openers {
  const { config } = loaded;
  const openFiles = async () => (await import('../../compose/open-files.ts')).openFilesOnce(config, storage.files);
  const openVaults = async () => {
    const { openVaultOnce } = await import('../../compose/open-vault.ts');
    return openVaultOnce(storage.vaults, readNeededMasterKeys(loaded));
  };
  const interns = { interns: storage.interns, now: currentTimeMs, notify() {} }; // the gateway polls the store
  const seal = () => createTextSeal(readNeededMasterKeys(loaded), ALERT_SEAL);
  const settings: Pick<AlertSettingsReader, 'read'> = {
    read: () => createAlertSettings(storage.management, () => config.alerts, seal()).read(),
  };
  const own = { bodyMs: DEADLINE_MS, isOffered: () => true };
  return {
    management: async () => ({
      ...(await createParts(storage, config, { isReading })),
      ledger: storage.ledger,
      flushLedger: async () => {}, // a gateway has the entries that are not stored yet
      hashEndUser: (workspaceId, id) => createEndUserHash(readNeededMasterKeys(loaded).current)(workspaceId, id),
      routingContext,
      alerts: { list: storage.alerts.listAlerts, raise: createRaiseAlert(storage.alerts, settings), settings, seal },
    }),
    async files() {
      const { createFileHandlers } = await import('../../api/files/handlers.ts');
      return createFileHandlers({
        ...(await openFiles()),
        workspaces: storage.management,
        maxUploads: () => 1,
        findVendorAccount: () => undefined,
        requestMs: () => DEADLINE_MS,
      });
    },
    async containers() {
      const { createContainerHandlers } = await import('../../api/containers/handlers.ts');
      return createContainerHandlers({
        containers: storage.containers,
        files: await openFiles(),
        owner: () => config.tools.sandbox.owner,
        admit: () => undefined,
      });
    },
    async vaults() {
      const { createVaultHandlers } = await import('../../api/vault/handlers.ts');
      const parts = { ...(await openVaults()), interns: storage.interns, deadlineMs: DEADLINE_MS };
      return { ...createVaultHandlers(parts), ...own };
    },
    async interns() {
      const { createInternHandlers } = await import('../../api/interns/handlers.ts');
      const { createInternVaults } = await import('../../vault/intern-vaults.ts');
      const handlers = createInternHandlers({
        ...interns,
        vaults: createInternVaults(await openVaults()),
        maxPerMember: () => config.interns.max_per_member,
        deadlineMs: DEADLINE_MS,
        show: async (shown) => [...shown],
      });
      return { ...handlers, ...own };
    },
    async schedules() {
      const { createScheduleHandlers } = await import('../../api/interns/schedule-handlers.ts');
      const maxPerIntern = () => config.interns.schedules.max_per_intern;
      const parts = { ...interns, schedules: storage.schedules, maxPerIntern };
      return { ...createScheduleHandlers(parts, DEADLINE_MS), ...own };
    },
  };
}

/** The operator, who has no key: as the organization or a member of a workspace, or as the administrator. */
async function createCaller(storage: Storage, isScoped: boolean, options: OpenOptions): Promise<Caller> {
  if (!isScoped) return { ...createKeyCaller(''), kind: 'management' };
  const { workspace, member, intern, container } = options;
  const found = intern === undefined ? undefined : await storage.interns.findIntern(intern);
  const workspaceId = found?.workspaceId ?? (await resolveWorkspace(storage.management, workspace)).id;
  if (member !== undefined && !(await storage.management.findMember(member))) {
    throw new CommandError(`There is no member "${member}". "headgate members list" lists them.`);
  }
  if (container === undefined || member !== undefined) return createKeyCaller(workspaceId, member);
  const { findContainer } = await import('../containers.ts');
  const { id } = await findContainer({ store: storage.containers, workspaceId }, container);
  const [, kind, owner] = /@(member|intern):(.*)$/.exec(id) ?? [];
  if (kind !== 'intern') return createKeyCaller(workspaceId, owner);
  return { ...createKeyCaller(workspaceId), internId: owner };
}

const noKey = operator as Pick<Caller, 'keyHash'>; // use cases take null for the command line

/** A key of a member, or of the organization. */
const createKeyCaller = (workspaceId: string, memberId?: string): Caller => ({
  ...noKey,
  keyName: '',
  kind: memberId === undefined ? 'organization' : 'member',
  workspaceId,
  memberId: memberId ?? null,
});

/** Calls a handler without a server. Checks of the server, such as that of the key, have no meaning here. */
async function callHandler(
  handler: Route['handler'],
  caller: Caller,
  { params = {}, query = {}, body, raw }: RouteCallInput,
): Promise<RouteResult> {
  let status = 200;
  const permission = caller.kind === 'management' ? 'management' : 'workspace';
  const request = {
    caller,
    params,
    query,
    body,
    raw,
    headers: {},
    routeSetting: { permission },
    receivedAt: performance.now(),
  };
  const reply = {
    code(wanted: number) {
      status = wanted;
      return reply;
    },
    header: () => reply,
    headers: () => reply,
    send: () => undefined,
  };
  try {
    const content = await handler(request as unknown as FastifyRequest, reply as unknown as FastifyReply); // the parts that handlers use
    return { status, content };
  } catch (error) {
    if (error instanceof GatewayError) throw new CommandError(readIssues(error), { cause: error });
    throw error;
  }
}
