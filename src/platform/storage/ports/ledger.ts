import type { ActivityStore } from './activity.ts';
import type { EntryStore } from './entries.ts';
import type { SpendingStore } from './spending.ts';
import type { UsageStore } from './usage.ts';

/** The ledger: its entries, and sums over them. */
export interface LedgerStore extends EntryStore, SpendingStore, ActivityStore, UsageStore {}
