import { createSessionCheck } from '../../api/console/identify-session.ts';
import type { Socket } from 'node:net';
import { createChatHandlers } from '../../api/interns/chat-handlers.ts';
import { createDaemonHandlers } from '../../api/interns/daemon.ts';
import { createOwnerForwarder } from '../../api/interns/forward-to-owner.ts';
import { createInternHandlers } from '../../api/interns/handlers.ts';
import { createHostProxy } from '../../api/interns/host-proxy.ts';
import { createLogHandler } from '../../api/interns/logs.ts';
import { createScheduleHandlers } from '../../api/interns/schedule-handlers.ts';
import { createPresence } from '../../api/interns/show-presence.ts';
import type { ApiParts } from '../../api/routes.ts';
import { createVaultHandlers } from '../../api/vault/handlers.ts';
import type { Caller } from '../../domain/caller.ts';
import { currentTimeMs } from '../../domain/clock.ts';
import type { OtherHosts } from '../../http/server.ts';
import { getChangeableIntern } from '../../management/interns/find-intern.ts';
import { recordDaemonAccess } from '../../management/interns/record-daemon-access.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { createInternVaults } from '../../vault/intern-vaults.ts';
import type { Base } from '../open-base.ts';
import type { OpenedContainers } from '../open-containers.ts';
import { openInterns } from '../open-interns.ts';
import { createOwnSocket } from '../open-own-socket.ts';
import { openRuntime } from '../open-runtime.ts';
import { openSchedules } from '../open-schedules.ts';
import { openVault } from '../open-vault.ts';

/** Interns, their vaults, schedules and host names. */
export interface InternWing {
  routes: Pick<ApiParts, 'vaults' | 'interns' | 'internChat' | 'schedules'>;
  /** Serves the host names of interns. */
  hosts: OtherHosts;
  /** @returns the key of a connection of an agent; undefined: it is none */
  findKey: (connection: object) => string | undefined;
  /** Sets the receiver of the connections of agents, once there is a server. */
  serve: (receive: (connection: Socket) => void) => void;
}

/** Opens the interns. @param resources collects the resources to close at the end */
export function openInternWing(base: Base, sandboxes: OpenedContainers, resources: AsyncDisposableStack): InternWing {
  const { config, storage, bus, log, options, host, management, telemetry, accounts } = base;
  const { interns: numbers } = telemetry;
  const runs = base.isFirst;
  const vault = openVault({ vaults: storage.vaults, texts: base.masterKeys, log, reports: runs });
  const own = createOwnSocket(resources);
  const runtime = openRuntime(
    {
      ...sandboxes,
      config,
      bus,
      log,
      own,
      host,
      store: storage.containers,
      objects: base.files.objects,
      vault,
      interns: storage.interns,
    },
    resources,
  );
  const interns = openInterns(
    {
      config,
      storage,
      management,
      bus,
      log,
      runtime: options.internRuntime ?? runtime,
      vaults: options.internVaults ?? createInternVaults(vault),
      numbers,
      runs,
      times: options.internTimes,
    },
    resources,
  );
  const { isOffered, deadlineMs, chatBodyMs } = interns;
  const schedules = openSchedules(
    { config, storage, bus, log, findLive: runtime.find, offersInterns: isOffered, numbers, runs },
    resources,
  );
  const domain = (): string | undefined => (isOffered() ? config().interns.domain : undefined);
  const chat = {
    // An intern cannot use the chat API with its own key, because it could answer its own questions. choice 731
    getIntern: (caller: Caller, internId: string) => getChangeableIntern(interns, caller, internId),
    findLive: runtime.find,
    owners: createOwnerForwarder(host),
    tagKeys: () => config().tags,
    admit: accounts.admit,
    sign: host.sign,
  };
  return {
    hosts: createHostProxy({
      ...chat,
      domain,
      findByHostname: (hostname) => callStore(() => interns.interns.findInternByHostname(hostname)),
    }),
    findKey: own.findKey,
    serve: own.serve,
    routes: {
      vaults: {
        ...createVaultHandlers({ ...vault, interns: storage.interns, deadlineMs }),
        bodyMs: deadlineMs,
        isOffered: () => config().interns.enabled,
      },
      interns: {
        ...createInternHandlers({ ...interns, show: createPresence({ host, findLive: runtime.find }) }),
        bodyMs: deadlineMs,
        isOffered,
      },
      internChat: {
        ...createChatHandlers(chat),
        ...createDaemonHandlers({
          ...chat,
          domain,
          audit: (caller, intern) => recordDaemonAccess(management, caller, intern),
          now: currentTimeMs,
        }),
        showInternLog: createLogHandler({
          ...chat,
          readLog: runtime.readLog,
          findCaller: accounts.access.findCaller,
          isSessionOpen: createSessionCheck(storage.console),
        }),
        bodyMs: chatBodyMs,
        isOffered,
      },
      schedules: {
        ...createScheduleHandlers(schedules, deadlineMs),
        bodyMs: deadlineMs,
        isOffered: schedules.isOffered,
      },
    },
  };
}
