import { createHmac } from 'node:crypto';
import { parseJson } from '../domain/parse-json.ts';
import type { JobOutcome, JobWork } from '../platform/jobs/run-jobs.ts';
import type { SendExchange } from '../platform/outbound/exchange.ts';
import { OutboundError } from '../platform/outbound/outbound-error.ts';
import type { WriteLog } from '../platform/telemetry/log-messages.ts';
import type { AlertWebhook } from './alert-settings.ts';
import type { Alert } from './find-alerts.ts';

/** The kind of jobs that send an alert to a webhook. */
export const ALERT_JOB = 'alert';

/** The payload of the job. */
export interface AlertJob {
  webhook: string;
  atMs: number;
  alert: Pick<Alert, 'id' | 'kind' | 'message' | 'data'>;
}

const TIMEOUT_MS = 10_000;
/** Time after which an alert that was not delivered is given up. */
const GIVE_UP_MS = 24 * 3_600_000;

export interface SendParts {
  /** @throws the store's error */
  readWebhooks: () => Promise<readonly AlertWebhook[]>;
  /** Sends a request to a webhook of the configuration. */
  send: SendExchange;
  /** Sends a request to a webhook that was added by API. */
  sendOutbound: SendExchange;
  now: () => number;
  log: WriteLog;
}

/**
 * Creates the work of the job. A webhook that does not respond, or responds with 408, 429 or a status from 500 on, is tried
 * again. Every other status than 2xx is final.
 */
export const createAlertWork =
  ({ readWebhooks, send, sendOutbound, now, log }: SendParts): JobWork =>
  async (job): Promise<JobOutcome> => {
    const done = { wakes: job.wakes };
    const { webhook: id, atMs, alert } = parseJson(job.payload) as AlertJob; // this process or another has written it
    const webhook = (await readWebhooks()).find((each) => each.id === id);
    if (!webhook) return done; // it was removed
    if (webhook.isLocked) {
      log('alert not delivered', { webhook: id, alert: alert.id, detail: 'the webhook needs another master key' });
      return done;
    }
    if (now() - atMs > GIVE_UP_MS) {
      log('alert not delivered', { webhook: id, alert: alert.id, detail: 'it was tried for a day' });
      return done;
    }
    const body = JSON.stringify(
      webhook.format === 'slack'
        ? { text: `Headgate: ${escapeSlack(alert.message)}` }
        : {
            type: `headgate.${alert.kind}`,
            timestamp: new Date(atMs).toISOString(),
            data: { id: alert.id, message: alert.message, ...alert.data },
          },
    );
    const status = await post(webhook, webhook.isStored ? sendOutbound : send, job.id, body, job.signal);
    if (status >= 200 && status < 300) return done;
    if (status >= 500 || status === 408 || status === 429)
      throw new Error(`The webhook "${id}" responded with ${status}.`);
    log('alert not delivered', { webhook: id, alert: alert.id, detail: `status ${status}` });
    return done;
  };

/** Slack reads `<…>` as a link or a mention. A message can have names that a caller chose. */
const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** @returns the status. @throws without the URL, which may contain a secret */
async function post(
  { id: name, url, secret }: AlertWebhook,
  send: SendExchange,
  id: string,
  body: string,
  ended: AbortSignal,
): Promise<number> {
  const signal = AbortSignal.any([ended, AbortSignal.timeout(TIMEOUT_MS)]);
  const signature = secret === undefined ? {} : sign(secret, id, Math.floor(Date.now() / 1000), body);
  const headers = { 'content-type': 'application/json', ...signature };
  try {
    const response = await send(url, { method: 'POST', headers, body, idleMs: TIMEOUT_MS, signal });
    response.body.destroy();
    return response.status;
  } catch (error) {
    ended.throwIfAborted();
    if (signal.aborted) throw new Error(`The webhook "${name}" did not respond within ${TIMEOUT_MS / 1000} s.`);
    const reason = error instanceof OutboundError ? ` (${error.detail ?? error.reason})` : '';
    throw new Error(`The webhook "${name}" cannot be reached${reason}.`, { cause: undefined });
  }
}

/** Signs a body by the specification of Standard Webhooks. @param seconds Unix time */
function sign(secret: string, id: string, seconds: number, body: string): Record<string, string> {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` };
}
