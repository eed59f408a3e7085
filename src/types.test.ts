import type { Response, ResponseCreateParamsBase, ResponseUsage } from 'openai/resources/responses/responses';
import { expect, it } from 'vitest';
import type { RequestBody } from './requests/responses/schema.ts';
import type { ResponseObject } from './domain/response.ts';
import type { WireUsage } from './domain/usage.ts';
import type { GatewayRequestFields, GatewayResponseFields, GatewayUsageFields } from './types.ts';

/** A deprecated field, which clients should not send. */
type Deprecated = 'route';

const agreements = {
  request: (body: Pick<RequestBody, keyof GatewayRequestFields>): GatewayRequestFields => body,
  requestField: (field: keyof GatewayRequestFields): keyof RequestBody => field,
  everyRequestField: (field: Exclude<keyof RequestBody, Deprecated>): keyof ResponseCreateParamsBase => field,
  response: (object: ResponseObject): GatewayResponseFields => object,
  everyResponseField: (field: 'router_metadata' | 'error_type'): keyof Response => field,
  usage: (usage: WireUsage): GatewayUsageFields => usage,
  everyUsageField: (field: keyof WireUsage): keyof ResponseUsage => field,
};

it('the published types agree with the schema and the response: the compiler checks this file', () => {
  expect(Object.keys(agreements)).not.toHaveLength(0);
});
