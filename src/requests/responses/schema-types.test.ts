import { expect, it } from 'vitest';
import type { InputItem, Tool, ToolChoice } from '../../domain/items.ts';
import type { OtherSettings, ResponseRequest } from '../../domain/request.ts';
import type { RequestBody } from './schema.ts';

type WireItem = Exclude<NonNullable<RequestBody['input']>, string>[number];

/** What `readRequest` does to an item without a type. */
type SettledItem<Item> = Item extends { role: string; type?: 'message' }
  ? Omit<Item, 'type'> & { type: 'message' }
  : Item;

/** `input` and `service_tier` are settled by `readRequest`; items are compared on their own. */
type Settled = Omit<RequestBody, 'input' | 'service_tier'>;

const agreements = {
  item: (item: SettledItem<WireItem>): InputItem => item,
  tool: (tool: NonNullable<RequestBody['tools']>[number]): Tool => tool,
  choice: (choice: NonNullable<RequestBody['tool_choice']>): ToolChoice => choice,
  tier: (tier: Exclude<RequestBody['service_tier'], 'fast'>): ResponseRequest['service_tier'] => tier,
  request: (request: Settled): Omit<ResponseRequest, 'input' | 'service_tier'> => request,
  field: (field: Exclude<keyof ResponseRequest, keyof OtherSettings>): keyof RequestBody => field,
};

it('types a checked body as the domain does: the compiler checks this file', () => {
  expect(Object.keys(agreements)).not.toHaveLength(0);
});
