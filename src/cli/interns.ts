import { setTimeout as delay } from 'node:timers/promises';
import { openVaultOnce } from '../compose/open-vault.ts';
import type { LoadedConfig } from '../config/load.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { GatewayError } from '../domain/errors.ts';
import { type Intern, provisioningSteps } from '../domain/intern.ts';
import { requestDeletion, requestProvision, suspendIntern } from '../management/interns/change-intern.ts';
import { createIntern } from '../management/interns/create-intern.ts';
import { type InternCaller, listInterns } from '../management/interns/find-intern.ts';
import type { InternParts } from '../management/interns/parts.ts';
import { checkCreateIntern } from '../management/interns/schema.ts';
import { writeTime } from '../management/write-time.ts';
import type { InternScheduleStore } from '../platform/storage/ports/intern-schedules.ts';
import type { ManagementStore } from '../platform/storage/ports/management.ts';
import { createInternVaults } from '../vault/intern-vaults.ts';
import { formatDay } from './format-time.ts';
import { requireStore, withStore } from './open-store.ts';
import { operator } from './operate.ts';
import { type JsonOption, printObject } from './print-object.ts';
import { resolveWorkspace } from './resolve-workspace.ts';
import { readIssues } from './read-issues.ts';
import { readNeededMasterKeys } from './read-needed-master-keys.ts';
import { drawTable } from './table.ts';
import { CommandError, type Terminal } from './terminal.ts';

export interface InternOptions {
  /** Name, slug or id of the workspace. Absent: the default one. */
  workspace?: string;
}

export interface CreateInternOptions extends InternOptions {
  member: string;
  description?: string;
  instructions?: string;
  provision?: boolean;
}

export interface OpenedWorkspace {
  schedules: InternScheduleStore;
  maxSchedules: number;
  management: Pick<ManagementStore, 'findMember'>;
  parts: InternParts;
  caller: InternCaller;
}

const PAGE = 500;
const POLL_MS = 100;
/** Longest wait for a gateway to take the work: it looks every second. */
const MAX_QUEUED_MS = 30_000;
/** Longest wait for a runtime to save its files and stop. */
const MAX_STOP_MS = 90_000;

/** Opens the interns of a workspace in the store. A running gateway does the work. @throws {CommandError} */
export const withInterns = async <Result>(
  { stderr }: Pick<Terminal, 'stderr'>,
  loaded: LoadedConfig,
  { workspace }: InternOptions,
  use: (opened: OpenedWorkspace) => Promise<Result>,
): Promise<Result> => {
  const { config } = loaded;
  requireStore(config);
  const texts = readNeededMasterKeys(loaded);
  return withStore({ config, stderr }, async ({ interns, vaults, management, schedules }) => {
    try {
      const { id: workspaceId } = await resolveWorkspace(management, workspace);
      const parts: InternParts = {
        interns,
        vaults: createInternVaults(openVaultOnce(vaults, texts)),
        maxPerMember: () => config.interns.max_per_member,
        now: currentTimeMs,
        notify: () => {}, // the gateway polls the store
      };
      return await use({
        management,
        schedules,
        maxSchedules: config.interns.schedules.max_per_intern,
        parts,
        caller: { ...operator, kind: 'organization', workspaceId, memberId: null },
      });
    } catch (error) {
      if (error instanceof GatewayError) throw new CommandError(readIssues(error), { cause: error });
      throw error;
    }
  });
};

async function listAll({ parts, caller }: OpenedWorkspace): Promise<Intern[]> {
  const all: Intern[] = [];
  for (let hasMore = true; hasMore; ) {
    const page = await listInterns(parts, caller, { limit: PAGE, after: all.at(-1) });
    all.push(...page.interns);
    hasMore = page.hasMore;
  }
  return all;
}

/** @param wanted an id, or a name that one intern of the workspace has */
export async function resolveIntern(opened: OpenedWorkspace, wanted: string): Promise<Intern> {
  const all = await listAll(opened);
  const found = all.filter(({ id, name }) => id === wanted || name === wanted);
  const [intern, ...others] = found;
  if (!intern)
    throw new CommandError(`There is no intern "${wanted}" in the workspace. "headgate interns list" has all.`);
  if (others.length === 0) return intern;
  const ids = found.map(({ id, creatorId }) => `${id} (${creatorId})`).join(', ');
  throw new CommandError(`Several members have an intern "${wanted}". Use an id: ${ids}.`);
}

/** Prints the interns of a workspace: as a table, or as a JSON list. */
export async function printInterns(
  terminal: Terminal,
  config: LoadedConfig,
  options: InternOptions & { json?: boolean },
): Promise<void> {
  const all = await withInterns(terminal, config, options, listAll);
  const { stdout } = terminal;
  if (options.json) return void stdout.write(`${JSON.stringify(all.map(describeIntern), undefined, 2)}\n`);
  if (all.length === 0) return void stdout.write('There are no interns. "headgate interns create" adds one.\n');
  const columns = ['NAME', 'ID', 'MEMBER', 'STATUS', 'MODEL', 'CREATED'].map((title) => ({
    title,
    canWrap: ['NAME', 'MEMBER', 'MODEL'].includes(title),
  }));
  const cells = all.map((intern) => [
    intern.name,
    intern.id,
    intern.creatorId,
    intern.status,
    intern.model ?? 'default',
    formatDay(intern.createdAtMs),
  ]);
  stdout.write(drawTable(terminal, columns, cells));
}

/** Prints an intern. */
export async function showIntern(
  terminal: Terminal,
  config: LoadedConfig,
  wanted: string,
  options: InternOptions & JsonOption,
): Promise<void> {
  const intern = await withInterns(terminal, config, options, (opened) => resolveIntern(opened, wanted));
  printObject(terminal, describeIntern(intern), options);
}

const describeIntern = (intern: Intern) => ({
  id: intern.id,
  name: intern.name,
  member: intern.creatorId,
  status: intern.status,
  step: intern.step === null ? null : provisioningSteps[intern.step - 1],
  failure: intern.lastFailureMessage,
  description: intern.description,
  instructions: intern.instructions,
  model: intern.model,
  hostname: intern.hostname,
  vault_id: intern.hasVault ? intern.vaultId : null,
  attached_vault_id: intern.attachedVaultId,
  created_at: writeTime(intern.createdAtMs),
  updated_at: writeTime(intern.updatedAtMs),
});

/** Creates an intern, and starts it if that is requested. */
export const addIntern = (
  terminal: Terminal,
  config: LoadedConfig,
  name: string,
  options: CreateInternOptions,
): Promise<void> =>
  withInterns(terminal, config, options, async ({ management, parts, caller }) => {
    const { description, instructions, provision = false, member: memberId } = options;
    if (!(await management.findMember(memberId))) throw new CommandError(`There is no member "${memberId}".`);
    const body = checkCreateIntern({
      name,
      workspace_id: caller.workspaceId,
      provision,
      ...(description !== undefined && { description }),
      ...(instructions !== undefined && { instructions }),
    });
    const owner = { ...caller, kind: 'member' as const, memberId };
    const { intern, isReplay } = await createIntern(parts, owner, { body, key: undefined });
    terminal.stdout.write(`${isReplay ? 'Exists already' : 'Created'}: ${intern.name} (${intern.id}).\n`);
    if (provision) await followProvisioning(terminal, parts, intern.id);
  });

/** Starts an intern, and shows the progress. */
export const startIntern = (
  terminal: Terminal,
  config: LoadedConfig,
  wanted: string,
  options: InternOptions & { wait: boolean },
): Promise<void> =>
  withInterns(terminal, config, options, async (opened) => {
    const { id } = await resolveIntern(opened, wanted);
    await requestProvision(opened.parts, opened.caller, id);
    if (options.wait) await followProvisioning(terminal, opened.parts, id);
    else terminal.stdout.write('Queued.\n');
  });

/** Prints each step, until the intern runs. @throws {CommandError} if it fails */
async function followProvisioning({ stdout }: Pick<Terminal, 'stdout'>, parts: InternParts, id: string): Promise<void> {
  const startedAt = performance.now();
  for (let shown = 0; ; await delay(POLL_MS)) {
    const intern = await parts.interns.findIntern(id);
    if (!intern) throw new CommandError('The intern was deleted.');
    const { status, step } = intern;
    const reached = status === 'running' ? provisioningSteps.length : (step ?? 0);
    for (; shown < reached; shown++)
      stdout.write(`${shown + 1}/${provisioningSteps.length} ${provisioningSteps[shown]}\n`);
    if (status === 'running') return void stdout.write(`Running at ${intern.hostname}.\n`);
    if (status === 'queued' && performance.now() - startedAt > MAX_QUEUED_MS) {
      throw new CommandError(
        'The intern is still queued: no gateway uses this store, or each runs its maximum number of interns.',
      );
    }
    if (status === 'queued' || status === 'provisioning') continue;
    throw new CommandError(`The intern is ${status}: ${intern.lastFailureMessage ?? 'another request changed it'}`);
  }
}

/** Stops an intern, and returns when its files are saved. */
export const stopIntern = (
  terminal: Terminal,
  config: LoadedConfig,
  wanted: string,
  options: InternOptions,
): Promise<void> =>
  withInterns(terminal, config, options, async (opened) => {
    const { id, name } = await resolveIntern(opened, wanted);
    const limit = AbortSignal.timeout(MAX_STOP_MS);
    try {
      await suspendIntern(opened.parts, opened.caller, id, limit);
    } catch (error) {
      if (!limit.aborted) throw error;
      throw new CommandError(
        'The intern has not stopped yet: no gateway uses this store, or the gateway still saves files.',
      );
    }
    terminal.stdout.write(`Suspended ${name}.\n`);
  });

/** Requests the removal of an intern. */
export const removeIntern = (
  terminal: Terminal,
  config: LoadedConfig,
  wanted: string,
  { acknowledgeLoss = false, ...options }: InternOptions & { acknowledgeLoss?: boolean },
): Promise<void> =>
  withInterns(terminal, config, options, async (opened) => {
    const { id, name } = await resolveIntern(opened, wanted);
    await requestDeletion(opened.parts, opened.caller, id, acknowledgeLoss);
    terminal.stdout.write(`Deleting ${name} with its files and its vault.\n`);
  });
