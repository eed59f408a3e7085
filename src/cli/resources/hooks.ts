import { setTimeout as delay } from 'node:timers/promises';
import { provisioningSteps } from '../../domain/intern.ts';
import { createSlug } from '../../platform/storage/tables/workspace-slug.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import type { Resources, RouteResult } from './open-resources.ts';
import type { WantedRequest } from './read-command-request.ts';

const POLL_MS = 100;
/** Longest wait for a gateway to take the work: it looks every second. */
const MAX_QUEUED_MS = 30_000;

/** Completes the body of a request with what only the command line leaves out. */
export async function complete({ storage, caller }: Resources, { command, body = {} }: WantedRequest): Promise<void> {
  if (command.id === 'createWorkspace' && body['slug'] === undefined && typeof body['name'] === 'string') {
    const stored = await storage.management.listWorkspaces({ offset: 0, limit: Number.MAX_SAFE_INTEGER });
    body['slug'] = createSlug(body['name'], new Set(stored.rows.map(({ slug }) => slug)));
  }
  if (command.id === 'updateGuardrail' && body['limit_usd'] === null) body['reset_interval'] ??= null;
  if (command.id === 'createSchedule') body['kind'] ??= 'cron';
  if (command.id === 'createIntern') {
    if (caller.memberId === null) throw new CommandError('Name the member that the intern belongs to with --member.');
    body['workspace_id'] = caller.workspaceId;
  }
  const { guardrail_id: guardrail, content_filters: filters, content_filter_builtins: builtins } = body;
  const hasFilters = filters !== undefined || builtins !== undefined;
  if (command.id === 'testGuardrail' && (guardrail !== undefined) === hasFilters) {
    throw new CommandError('Give either --guardrail or --file.');
  }
}

/** Does what remains after a response: shows the progress of a start, and what a setting prevents. */
export async function followUp(
  { stderr }: Pick<Terminal, 'stderr'>,
  { storage, loaded }: Resources,
  { command, params, body = {} }: WantedRequest,
  { content }: RouteResult,
  { waits }: { waits: boolean },
): Promise<void> {
  if (command.id === 'createSchedule' && !loaded.config.interns.schedules.enabled) {
    stderr.write('Schedules are off: set interns.schedules.enabled.\n');
  }
  const isStarted = command.id === 'provisionIntern' || (command.id === 'createIntern' && body['provision'] === true);
  if (isStarted && waits)
    await followProvisioning(stderr, storage, params['intern_id'] ?? (content as { id: string }).id);
}

/** Prints each step, until the intern runs. @throws {CommandError} if it fails */
async function followProvisioning(
  stderr: Terminal['stderr'],
  { interns }: Resources['storage'],
  id: string,
): Promise<void> {
  const startedAt = performance.now();
  for (let shown = 0; ; await delay(POLL_MS)) {
    const intern = await interns.findIntern(id);
    if (!intern) throw new CommandError('The intern was deleted.');
    const { status, step } = intern;
    const reached = status === 'running' ? provisioningSteps.length : (step ?? 0);
    for (; shown < reached; shown++) {
      stderr.write(`${shown + 1}/${provisioningSteps.length} ${provisioningSteps[shown]}\n`);
    }
    if (status === 'running') return void stderr.write(`Running at ${intern.hostname}.\n`);
    if (status === 'queued' && performance.now() - startedAt > MAX_QUEUED_MS) {
      throw new CommandError(
        'The intern is still queued: no gateway uses this store, or each runs its maximum number of interns.',
      );
    }
    if (status === 'queued' || status === 'provisioning') continue;
    throw new CommandError(`The intern is ${status}: ${intern.lastFailureMessage ?? 'another request changed it'}`);
  }
}
