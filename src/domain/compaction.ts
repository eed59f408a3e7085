import type { InputItem, OutputItem } from './items.ts';

/*
 * A compaction replaces a conversation by one opaque item. Some providers make it themselves. For all others, the model
 * writes a summary, which the client keeps in sealed form.
 */

/** Seals summaries, so that callers can neither read nor change them. All hosts with the same master key can open them. */
export interface SummarySeal {
  seal(workspaceId: string, summary: string): string;
  /** @returns undefined if it was changed, or belongs to another workspace or gateway */
  open(workspaceId: string, sealed: string): string | undefined;
}

/** Begins every sealed summary, so that it differs from the compactions of providers. */
export const SUMMARY_PREFIX = 'hgc1.';

/** Precedes a summary where it stands for the conversation. */
export const SUMMARY_HEADING = 'Summary of the conversation up to here, which replaces it:\n\n';

/** The item that ends an input to request a compaction. */
export const TRIGGER = 'compaction_trigger';

const compactionTypes: ReadonlySet<string> = new Set(['compaction', 'context_compaction']);

/** Returns the sealed summary of an item. Undefined: it has none, or the compaction of a provider. */
export function findSealedSummary(item: InputItem): string | undefined {
  const { type, encrypted_content: sealed } = item as OutputItem;
  if (!compactionTypes.has(type) || typeof sealed !== 'string') return undefined;
  return sealed.startsWith(SUMMARY_PREFIX) ? sealed : undefined;
}

/** Whether an input requests a compaction. */
export const endsWithTrigger = (input: readonly InputItem[]): boolean => input.at(-1)?.type === TRIGGER;
