import { randomUUID, timingSafeEqual } from 'node:crypto';
import { GatewayError, invalidRequest } from '../../../domain/errors.ts';
import { createScheduleJob, type InternSchedule, type ScheduledRun } from '../../../domain/intern-schedule.ts';
import { callStore } from '../../../platform/storage/call-store.ts';
import { characterCount } from '../../../schema/shapes.ts';
import { createInternError } from '../intern-error.ts';
import { hashWebhookToken } from './change-schedule.ts';
import type { ScheduleParts } from './parts.ts';
import { MAX_RUN_INPUT } from './schema.ts';

/** Runs of a webhook that wait for the intern. */
const MAX_PENDING = 10;
const RETRY_SECONDS = 30;

export interface WebhookCall {
  internId: string;
  token: string;
  body: string;
}

/**
 * Requests a run of an intern. It needs no key: the token is the permission for this intern alone.
 *
 * @returns the id of the run
 * @throws {GatewayError} `not_found`, `conflict` if it is paused, `rate_limited` if too many runs wait
 */
export async function receiveWebhook(parts: ScheduleParts, { internId, token, body }: WebhookCall): Promise<string> {
  const { schedules, now } = parts;
  const all = await callStore(() => schedules.listSchedules(internId));
  const schedule = findByToken(all, hashWebhookToken(token));
  if (!schedule) throw new GatewayError('not_found', 'No webhook of this intern has this token.');
  if (schedule.isPaused) throw createInternError('schedule_paused', 'The webhook is paused.');
  const input = [schedule.input, body].filter((text) => text !== '').join('\n\n');
  if (input === '') throw invalidRequest([{ path: '', message: 'is empty: the intern needs a text' }]);
  if (characterCount(input) > MAX_RUN_INPUT) {
    const text = `The text of the schedule and the body have more than ${MAX_RUN_INPUT} characters together.`;
    throw new GatewayError('payload_too_large', text);
  }
  const id = randomUUID();
  const nowMs = Math.round(now());
  const run: ScheduledRun = {
    id,
    scheduleId: schedule.id,
    dueKey: id,
    dueAtMs: nowMs,
    addedAtMs: nowMs,
    input,
    status: 'pending',
    failure: null,
    startedAtMs: null,
    endedAtMs: null,
  };
  const job = createScheduleJob(schedule.id, nowMs);
  if (!(await callStore(() => schedules.addRequestedRun(run, { maxPending: MAX_PENDING }, job)))) {
    throw new GatewayError('rate_limited', `At most ${MAX_PENDING} runs of a webhook wait. Try again later.`, {
      retryAfterSeconds: RETRY_SECONDS,
    });
  }
  parts.notify(schedule.id);
  return id;
}

/** Compares with the hash of every webhook of the intern, each in constant time. */
function findByToken(all: readonly InternSchedule[], hash: string): InternSchedule | undefined {
  const given = Buffer.from(hash);
  let found: InternSchedule | undefined;
  for (const schedule of all) {
    if (schedule.tokenHash !== null && timingSafeEqual(Buffer.from(schedule.tokenHash), given)) found = schedule;
  }
  return found;
}
