import type { InputItem } from '../../domain/items.ts';
import { isSealedItem } from '../../domain/sealed-items.ts';
import { openSeal } from '../messages/seal.ts';

/**
 * Replaces reasoning that the gateway has sealed by the item in the seal, before anything inspects or counts the input.
 *
 * @returns the same list if there is none
 */
export function openReasonings(input: InputItem[]): InputItem[] {
  return input.some(hasSeal) ? input.map((item) => (hasSeal(item) ? open(item) : item)) : input;
}

const sealOf = (item: InputItem): unknown => (item as { encrypted_content?: unknown }).encrypted_content;

function hasSeal(item: InputItem): boolean {
  const sealed = item.type === 'reasoning' ? sealOf(item) : undefined;
  return typeof sealed === 'string' && isSealedItem(sealed);
}

/** Opens a seal. One that is not reasoning stays closed, and no provider gets it. */
function open(item: InputItem): InputItem {
  const opened = openSeal(String(sealOf(item)));
  if (opened?.['type'] === 'reasoning') return { ...opened, ...('id' in item && { id: item.id }) } as InputItem;
  const { encrypted_content: _, ...rest } = item as Record<string, unknown>;
  return rest as unknown as InputItem;
}
