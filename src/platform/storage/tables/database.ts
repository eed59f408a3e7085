import type { Kysely } from 'kysely';
import type { KeyTable } from './keys.ts';
import type { LedgerTable } from './ledger.ts';
import type { MembershipTable, MemberTable } from './members.ts';
import type { RevisionTable } from './revisions.ts';
import type { WorkspaceTable } from './workspaces.ts';

/** Every table, as both dialects see it. Columns that hold integers read as `bigint`, flags are 0 or 1. */
export interface Tables {
  keys: KeyTable;
  workspaces: WorkspaceTable;
  members: MemberTable;
  memberships: MembershipTable;
  ledger: LedgerTable;
  revisions: RevisionTable;
}

/** A connection, a pool or a transaction: what the functions of `tables/` run on. */
export type Database = Kysely<Tables>;
