import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { GatewayError, type Issue, invalidRequest } from '../../../domain/errors.ts';
import { createScheduleJob, type InternSchedule } from '../../../domain/intern-schedule.ts';
import { callStore } from '../../../platform/storage/call-store.ts';
import type { FieldChange } from '../../../platform/storage/ports/audit.ts';
import { getChangeableIntern, type InternCaller } from '../find-intern.ts';
import { createInternError, createMissingInternError } from '../intern-error.ts';
import { findDueTime } from './due-time.ts';
import { getSchedule } from './find-schedule.ts';
import type { ScheduleParts } from './parts.ts';
import type { CreateScheduleBody, UpdateScheduleBody } from './schema.ts';

const TOKEN_BYTES = 32;

export interface CreatedSchedule {
  schedule: InternSchedule;
  /** Token of a webhook. It is not stored. */
  token: string | undefined;
}

/** Hashes the token of a webhook. */
export const hashWebhookToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Creates a schedule of an intern. @throws {GatewayError} `not_found`, `invalid_request`, `conflict` */
export async function createSchedule(
  parts: ScheduleParts,
  caller: InternCaller,
  internId: string,
  body: CreateScheduleBody,
): Promise<CreatedSchedule> {
  const { schedules, now } = parts;
  const intern = await getChangeableIntern(parts, caller, internId);
  const { kind, input = '', paused: isPaused = false } = body;
  checkFields(kind, body, input);
  const nowMs = now();
  const token = kind === 'webhook' ? `hgw_${randomBytes(TOKEN_BYTES).toString('base64url')}` : undefined;
  const schedule = withNextTime(
    {
      id: randomUUID(),
      internId,
      kind,
      input,
      isPaused,
      nextDueAtMs: null,
      cron: kind === 'cron' ? body.cron! : null, // checked
      timeZone: kind === 'cron' ? (body.time_zone ?? 'UTC') : null,
      tokenHash: token === undefined ? null : hashWebhookToken(token),
      createdAtMs: Math.round(nowMs),
      updatedAtMs: Math.round(nowMs),
    },
    nowMs,
  );
  const maxPerIntern = parts.maxPerIntern();
  const refusal = await callStore(() =>
    schedules.addSchedule(schedule, { maxPerIntern }, describeChange(caller, intern, undefined, schedule, nowMs)),
  );
  if (refusal === 'intern') throw createMissingInternError();
  if (refusal === 'limit') {
    throw createInternError('schedule_limit_reached', `An intern can have at most ${maxPerIntern} schedules.`);
  }
  parts.notify(schedule.id);
  return { schedule, token };
}

/** Changes, pauses or resumes a schedule. Omitted fields stay. Times that passed while it was paused are skipped. */
export async function updateSchedule(
  parts: ScheduleParts,
  caller: InternCaller,
  { internId, scheduleId }: { internId: string; scheduleId: string },
  body: UpdateScheduleBody,
): Promise<InternSchedule> {
  const { schedules, now } = parts;
  const intern = await getChangeableIntern(parts, caller, internId);
  const before = await getSchedule(parts, internId, scheduleId);
  const { cron = before.cron, time_zone: timeZone = before.timeZone } = body;
  const { input = before.input, paused: isPaused = before.isPaused } = body;
  checkFields(before.kind, { cron: cron ?? undefined, time_zone: timeZone ?? undefined }, input);
  const nowMs = now();
  const isRetimed = cron !== before.cron || timeZone !== before.timeZone || isPaused !== before.isPaused;
  const changed = { ...before, cron, timeZone, input, isPaused, updatedAtMs: Math.round(nowMs) };
  const after = isRetimed ? withNextTime(changed, nowMs) : changed;
  const { nextDueAtMs, updatedAtMs } = after;
  const fields = { cron, timeZone, input, isPaused, updatedAtMs, ...(isRetimed && { nextDueAtMs }) };
  const stored = await callStore(() =>
    schedules.updateSchedule(scheduleId, fields, describeChange(caller, intern, before, after, nowMs)),
  );
  if (!stored) throw createMissingScheduleError();
  parts.notify(scheduleId);
  return stored;
}

/** Deletes a schedule. A run in progress ends as it would. @throws {GatewayError} `not_found` */
export async function deleteSchedule(
  parts: ScheduleParts,
  caller: InternCaller,
  { internId, scheduleId }: { internId: string; scheduleId: string },
): Promise<void> {
  const intern = await getChangeableIntern(parts, caller, internId);
  const before = await getSchedule(parts, internId, scheduleId);
  const change = describeChange(caller, intern, before, undefined, parts.now());
  if (!(await callStore(() => parts.schedules.deleteSchedule(scheduleId, change)))) throw createMissingScheduleError();
}

const createMissingScheduleError = () => new GatewayError('not_found', 'The intern has no schedule with this id.');

/** @throws {GatewayError} `invalid_request` */
function checkFields(
  kind: InternSchedule['kind'],
  { cron, time_zone }: { cron?: string | undefined; time_zone?: string | undefined },
  input: string,
): void {
  const issues: Issue[] = [];
  if (kind === 'cron') {
    if (cron === undefined) issues.push({ path: 'cron', message: 'is missing' });
    if (input === '') issues.push({ path: 'input', message: 'is missing: the intern needs a text' });
  } else {
    const says = 'is only for the kind `cron`';
    if (cron !== undefined) issues.push({ path: 'cron', message: says });
    if (time_zone !== undefined) issues.push({ path: 'time_zone', message: says });
  }
  if (issues.length > 0) throw invalidRequest(issues);
}

const withNextTime = (schedule: InternSchedule, nowMs: number): InternSchedule => {
  const { cron, timeZone, isPaused } = schedule;
  return { ...schedule, nextDueAtMs: cron === null || isPaused ? null : findDueTime(cron, timeZone!, nowMs) };
};

/** The audit log has the expression, and whether the text changed, never the text and the token. */
function describeChange(
  { keyHash }: InternCaller,
  { workspaceId }: { workspaceId: string },
  before: InternSchedule | undefined,
  after: InternSchedule | undefined,
  atMs: number,
) {
  const { id } = (after ?? before)!; // one of them exists
  const changes: Record<string, FieldChange> = {};
  const shown = { kind: 'kind', cron: 'cron', time_zone: 'timeZone', paused: 'isPaused' } as const;
  for (const [name, field] of Object.entries(shown) as [string, (typeof shown)[keyof typeof shown]][]) {
    const [old, next] = [before?.[field] ?? null, after?.[field] ?? null];
    if (old !== next) changes[name] = { before: old, after: next };
  }
  if (before && after && before.input !== after.input) {
    changes['input'] = { before: `${before.input.length} characters`, after: `${after.input.length} characters` };
  }
  const verb = !before ? 'create' : after ? 'update' : 'delete';
  return {
    change: { atMs, actorKeyHash: keyHash },
    event: {
      action: `intern_schedule.${verb}`,
      objectKind: 'intern_schedule',
      objectId: id,
      workspaceId,
      changes,
    },
    job: createScheduleJob(id, after?.nextDueAtMs ?? atMs),
  };
}
