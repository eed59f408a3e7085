import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { createEgress, type OpenProxy } from '../../src/compose/create-egress.ts';
import { createSocketProxies } from '../../src/compose/create-socket-proxies.ts';
import type { Intern } from '../../src/domain/intern.ts';
import type { AgentEvent } from '../../src/interns/agent/events.ts';
import { createRuntime, type LocalRuntime } from '../../src/interns/runtime/create-runtime.ts';
import { KEY_PLACEHOLDER } from '../../src/interns/runtime/launch-agent.ts';
import type { RunError } from '../../src/interns/runtime/run-error.ts';
import type { NewRun } from '../../src/interns/runtime/runs.ts';
import { GATEWAY_HOST, type RuntimeParts } from '../../src/interns/runtime/runtime-parts.ts';
import { openDiskObjects } from '../../src/platform/objects/disk/disk-objects.ts';
import { BubblewrapDriver } from '../../src/platform/sandbox/bubblewrap/bubblewrap-driver.ts';
import type { SandboxDriver } from '../../src/platform/sandbox/sandbox.ts';
import { testLimits } from '../../src/platform/sandbox/contract.ts';
import { testGateway } from '../../src/testing/test-gateway.ts';

const workspaceId = '00000000-0000-4000-8000-0000000000a1';

/** A gateway with the simulator, and runtimes of interns whose agents call it. */
export async function openRuntimeLab(
  createDriver?: (folder: string) => SandboxDriver,
  chooseProxies?: (resources: AsyncDisposableStack) => Promise<OpenProxy>,
) {
  const gate = await testGateway({
    interns: { enabled: false },
    bootstrap: { keys: [{ key: KEY_PLACEHOLDER, name: 'intern', workspace: 'main', member: 'ada' }] },
  });
  const folder = mkdtempSync(join(tmpdir(), 'headgate-runtime-'));
  chmodSync(folder, 0o711); // sandboxes of root have another user
  const resources = new AsyncDisposableStack();
  const driver = createDriver?.(folder) ?? new BubblewrapDriver({ folder, hidden: [] });
  const counts = { served: 0, refused: 0, failed: 0, sentBytes: 0, receivedBytes: 0 };
  const outbound = { connectTo: () => Promise.reject(new Error('no other host')) };
  const openProxy = (await chooseProxies?.(resources)) ?? createSocketProxies({ hasOtherUser: true }, resources);
  const openEgress = createEgress({ outbound, counts, log: () => {}, openProxy });
  const logged: unknown[] = [];

  const createParts = (changed: Partial<RuntimeParts>): RuntimeParts => ({
    driver,
    problem: undefined,
    store: gate.gateway.storage.containers,
    objects: openDiskObjects(join(folder, 'objects')),
    settings: () => ({ limits: testLimits, program: undefined, allowedDomains: [] }),
    bus: { publish: () => {}, subscribe: () => () => {} },
    async openEgress({ intern, name, connectGateway }) {
      const opened = await openEgress({
        name,
        workspaceId: intern.workspaceId,
        allowedDomains: [GATEWAY_HOST],
        ownHost: { name: GATEWAY_HOST, connect: connectGateway },
      });
      return { ...opened, environment: {} };
    },
    async connectGateway() {
      const socket = connect(Number(new URL(gate.url).port), '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
    findAddress: async () => 'test',
    now: Date.now,
    times: { restartMs: 10 },
    log: (message, fields) => void logged.push({ message, fields }),
    ...changed,
  });

  return {
    gate,
    driver,
    logged,
    folder,
    openRuntime: (changed: Partial<RuntimeParts> = {}): LocalRuntime => createRuntime(createParts(changed)),
    async close() {
      await driver.close();
      await resources.disposeAsync();
      await gate.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const createTestIntern = (fields: Partial<Intern> = {}): Intern => ({
  id: randomUUID(),
  workspaceId,
  creatorId: 'ada',
  name: 'bob',
  description: null,
  instructions: null,
  model: 'simulator/echo',
  status: 'provisioning',
  hostname: null,
  vaultId: randomUUID(),
  hasVault: true,
  attachedVaultId: null,
  step: 3,
  lastFailureMessage: null,
  failureReason: null,
  runtimeAddress: null,
  isStopRequested: false,
  acknowledgesLoss: false,
  createdAtMs: 1,
  updatedAtMs: 1,
  ...fields,
});

/** The events of a run until its end or a question. */
export interface ReadRun {
  events: AgentEvent[];
  text: string;
  error: RunError | undefined;
}

/** A reader whose promise resolves when it receives no more. */
export function createReader() {
  const events: AgentEvent[] = [];
  const read = Promise.withResolvers<ReadRun>();
  const describe = (error?: RunError): ReadRun => ({
    events,
    error,
    text: events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join(''),
  });
  return {
    read: read.promise,
    reader: {
      event(event: AgentEvent) {
        events.push(event);
        if (event.type === 'end' || event.type === 'interaction') read.resolve(describe());
      },
      failed: (error: RunError) => read.resolve(describe(error)),
    },
  };
}

/** Starts a run of an intern, and reads it. */
export async function runIntern(runtime: LocalRuntime, id: string, input: string, more: Partial<NewRun> = {}) {
  const { read, reader } = createReader();
  const run = { sessionId: 's', input, mode: 'self-drive', deadlineMs: 60_000, reader, ...more } as const;
  runtime.find(id)!.runs.start(run);
  return read;
}
