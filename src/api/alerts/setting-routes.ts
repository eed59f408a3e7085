import { Type } from 'typebox';
import { type AlertSettings, SETTINGS, sealWebhook, WEBHOOK } from '../../alerts/alert-settings.ts';
import { changedSettings, MAX_WEBHOOKS, settingNames, webhookFields } from '../../alerts/settings-schema.ts';
import { GatewayError, invalidRequest } from '../../domain/errors.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { applyChange } from '../../management/apply-change.ts';
import { createBodyCheck, strictBody } from '../../management/check-body.ts';
import { listChanges } from '../../management/list-changes.ts';
import { named } from '../../openapi/schema-writer.ts';
import { deleted, flag, inData, text } from '../../openapi/shapes.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { actorOf, type ManagementApiParts, managementRoutes } from '../management/route.ts';

const route = managementRoutes('Alerts');

const webhook = named(
  'AlertWebhook',
  Type.Object({
    id: text,
    host: text,
    format: Type.Enum(['json', 'slack']),
    is_signed: flag,
    source: Type.Enum(['configuration', 'api']),
  }),
);
const settings = named(
  'AlertSettings',
  Type.Object({ ...changedSettings, changed: Type.Array(text), webhooks: Type.Array(webhook) }),
);

const checkSettings = createBodyCheck(strictBody(changedSettings));
const checkWebhook = createBodyCheck(
  strictBody({
    url: Type.String({ ...webhookFields.url, maxLength: 2000 }),
    format: Type.Optional(Type.Enum(['json', 'slack'])),
    secret: Type.Optional(Type.String({ minLength: 16, maxLength: 1000 })),
  }),
);
const idRule = webhookFields.id as { pattern?: string; says?: string };
const isWebhookId = new RegExp(idRule.pattern!);

/** Returns the host of an address whose rest may have a secret. Empty: no master key opens the address. */
const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : '');

function writeSettings({ webhooks, changed, ...values }: AlertSettings) {
  const written = webhooks.map(({ id, url, format, secret, isStored }) => ({
    id,
    host: hostOf(url),
    format,
    is_signed: secret !== undefined,
    source: isStored ? ('api' as const) : ('configuration' as const),
  }));
  return { data: { ...values, changed: [...changed], webhooks: written } };
}

const readSettings = ({ alerts }: ManagementApiParts) => callStore(() => alerts.settings.read());

/** Finds a webhook that the API may change. @throws {GatewayError} `conflict`: the configuration has it */
function findStored({ webhooks }: AlertSettings, id: string) {
  const found = webhooks.find((each) => each.id === id);
  if (found?.isStored !== false) return found;
  throw new GatewayError('conflict', `The webhook "${id}" is in the configuration. Change it there.`);
}

const event = (action: string, objectId: string) => ({
  action,
  objectKind: 'alert settings',
  objectId,
  workspaceId: null,
});

/** Settings and webhooks of alerts. @see docs/guides/alerts.md#by-api */
export const settingRoutes = [
  route('GET', '/alerts/settings', {
    id: 'readAlertSettings',
    summary: 'Read the settings of alerts and their webhooks',
    response: { description: 'The settings. `changed` names those that the API has set.', schema: inData(settings) },
    handle: async (parts) => writeSettings(await readSettings(parts)),
  }),
  route('PATCH', '/alerts/settings', {
    id: 'changeAlertSettings',
    summary: 'Change settings of alerts',
    description: 'Null returns to the value of the configuration.',
    body: { check: checkSettings, example: { error_percent: 10, quiet_minutes: null } },
    response: { description: 'The settings.', schema: inData(settings) },
    handle: async (parts, { request, body }) => {
      await callStore(() =>
        applyChange(parts, actorOf(request), async ({ transaction }) => {
          const stored = (await transaction.listAlertSettings()).find(({ name }) => name === SETTINGS);
          const before = stored ? (parseJson(stored.value) as Record<string, unknown>) : {};
          const merged = { ...before, ...body };
          const after = Object.fromEntries(
            settingNames.flatMap((name) => (merged[name] == null ? [] : [[name, merged[name]]])),
          );
          await transaction.putAlertSetting({ name: SETTINGS, value: JSON.stringify(after) });
          await transaction.record({ ...event('alerts.update', SETTINGS), changes: listChanges(before, after) });
        }),
      );
      return writeSettings(await readSettings(parts));
    },
  }),
  route('PUT', '/alerts/webhooks/:id', {
    id: 'putAlertWebhook',
    summary: 'Add or replace a webhook of alerts',
    description: 'The rules of `outbound` apply to its URL. URL and secret are stored encrypted, and not shown again.',
    body: {
      check: checkWebhook,
      example: { url: 'https://alerts.example.com/headgate', secret: 'a long secret text' },
    },
    response: { description: 'The settings.', schema: inData(settings) },
    statuses: [409],
    handle: async (parts, { request, params: { id }, body }) => {
      if (!isWebhookId.test(id)) {
        const message = `The id of a webhook ${idRule.says}.`;
        throw new GatewayError('invalid_request', message);
      }
      const { url, format = 'json', secret } = body;
      if (!URL.canParse(url)) throw invalidRequest([{ path: 'url', message: 'It is not a valid URL.' }]);
      const before = findStored(await readSettings(parts), id);
      const describe = ({ url: address, format }: { url: string; format: string }) => {
        return { host: hostOf(address), format };
      };
      await callStore(() =>
        applyChange(parts, actorOf(request), async ({ transaction }) => {
          const rows = await transaction.listAlertSettings();
          const others = rows.filter(({ name }) => name.startsWith(WEBHOOK) && name !== WEBHOOK + id);
          if (others.length >= MAX_WEBHOOKS) {
            throw new GatewayError('conflict', `There are ${MAX_WEBHOOKS} webhooks already. Delete one first.`);
          }
          await transaction.putAlertSetting(sealWebhook({ id, url, format, secret }, parts.alerts.seal()));
          const changes = listChanges(before && describe(before), describe({ url, format }));
          await transaction.record({ ...event('alerts.webhook', id), changes });
        }),
      );
      return writeSettings(await readSettings(parts));
    },
  }),
  route('DELETE', '/alerts/webhooks/:id', {
    id: 'deleteAlertWebhook',
    summary: 'Delete a webhook of alerts',
    response: deleted,
    statuses: [404, 409],
    handle: async (parts, { request, params: { id } }) => {
      const before = findStored(await readSettings(parts), id);
      if (!before) throw new GatewayError('not_found', `There is no webhook "${id}".`);
      await callStore(() =>
        applyChange(parts, actorOf(request), async ({ transaction }) => {
          await transaction.deleteAlertSetting(WEBHOOK + id);
          const changes = listChanges({ host: hostOf(before.url) }, undefined);
          await transaction.record({ ...event('alerts.webhook_delete', id), changes });
        }),
      );
      return { deleted: true as const };
    },
  }),
];
