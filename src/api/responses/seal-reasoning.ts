import type { ResponseEvent } from '../../domain/events.ts';
import type { OutputItem, ReasoningItem } from '../../domain/items.ts';
import type { ResponseObject } from '../../domain/response.ts';
import { sealItem } from '../../domain/sealed-items.ts';
import { EventWriter } from '../../http/sse.ts';

/** Formats of providers that encrypt the reasoning themselves, for clients of this API. */
const encrypted = /-responses-v1$/;

/**
 * Adds `encrypted_content` to reasoning of a provider that does not encrypt it: the whole item, sealed. Clients of this API
 * return this field, and drop the fields `signature` and `format`, which their types do not have.
 */
function sealReasoningItem(item: OutputItem): OutputItem {
  if (item.type !== 'reasoning') return item;
  const { id: _, status: __, ...rest } = item as ReasoningItem;
  const isUnnamed = !!rest.encrypted_content && !rest.format; // a provider of this API has encrypted it
  if (isUnnamed || encrypted.test(rest.format ?? '')) return item;
  return { ...item, encrypted_content: sealItem(rest) };
}

/** Seals the reasoning of a response whose request includes `reasoning.encrypted_content`. */
export const sealResponse = (response: ResponseObject): ResponseObject => ({
  ...response,
  output: response.output.map(sealReasoningItem),
});

/** Writes the events of a response, with its reasoning sealed. */
export class SealingWriter extends EventWriter {
  override write(event: ResponseEvent): string {
    return super.write(sealEvent(event));
  }
}

function sealEvent(event: ResponseEvent): ResponseEvent {
  const { item, response } = event as { item?: OutputItem; response?: ResponseObject };
  if (event.type === 'response.output_item.done' && item?.type === 'reasoning') {
    return { ...event, item: sealReasoningItem(item) } as ResponseEvent;
  }
  return response && response.output.length > 0
    ? ({ ...event, response: sealResponse(response) } as ResponseEvent)
    : event;
}
