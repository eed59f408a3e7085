import { Type } from 'typebox';
import { alertKinds } from '../../alerts/find-alerts.ts';
import { createTimedId } from '../../domain/ids.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { createBodyCheck, plainText, strictBody } from '../../management/check-body.ts';
import { invalidRequest } from '../../domain/errors.ts';
import { pageQuery } from '../../openapi/parameters.ts';
import { named } from '../../openapi/schema-writer.ts';
import { anything, inData, listOf, number, text, time } from '../../openapi/shapes.ts';
import { callStore } from '../../platform/storage/call-store.ts';
import { readPage, readQuery } from '../management/read-query.ts';
import { settingRoutes } from './setting-routes.ts';
import { managementRoutes } from '../management/route.ts';

const route = managementRoutes('Alerts');

const alert = named(
  'Alert',
  Type.Object({
    id: text,
    kind: Type.Enum([...alertKinds]),
    message: text,
    data: anything,
    raised_at: time,
    count: number,
  }),
);

const checkTest = createBodyCheck(strictBody({ webhook: Type.Optional(plainText({ maxLength: 40 })) }));

/** Alerts and their webhooks. @see docs/guides/alerts.md */
export const alertRoutes = [
  route('GET', '/alerts', {
    id: 'listAlerts',
    summary: 'List the alerts',
    query: pageQuery,
    response: { description: 'A page of alerts. The one that was raised last is first.', schema: listOf(alert) },
    handle: async ({ alerts }, { request }) => {
      const page = readQuery(request, readPage);
      const { rows, total } = await callStore(() => alerts.list(page));
      const data = rows.map(({ atMs, kind, data: stored, ...row }) => ({
        ...row,
        kind: kind as (typeof alertKinds)[number],
        data: parseJson(stored),
        raised_at: new Date(atMs).toISOString(),
      }));
      return { data, total_count: total };
    },
  }),
  ...settingRoutes,
  route('POST', '/alerts/test', {
    id: 'testAlert',
    summary: 'Send a test alert to the webhooks',
    body: {
      check: checkTest,
      isOptional: true,
      example: { webhook: 'ops' },
    },
    bodyIsOptional: true,
    response: {
      description: 'The alert is on its way to these webhooks.',
      status: 202,
      schema: inData(Type.Object({ webhooks: Type.Array(text) })),
    },
    handle: async ({ alerts }, { body }) => {
      const { webhooks: all } = await callStore(() => alerts.settings.read());
      const known = all.map(({ id }) => id);
      if (body.webhook !== undefined ? !known.includes(body.webhook) : known.length === 0) {
        const message =
          known.length === 0
            ? 'There is no webhook in `alerts.webhooks`, and none was added by API.'
            : `The webhooks are ${known.join(', ')}.`;
        throw invalidRequest([{ path: 'webhook', message }]);
      }
      const webhooks = body.webhook === undefined ? known : [body.webhook];
      const id = createTimedId('test:');
      const message = 'This is a test.';
      await callStore(() => alerts.raise({ id, kind: 'test', message, data: {}, isOnce: true }, webhooks));
      return { data: { webhooks: [...webhooks] } };
    },
  }),
];
