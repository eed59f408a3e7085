import type { Intern, InternStatus } from '../../../domain/intern.ts';
import type { AuditEvent } from './audit.ts';
import type { JobLease, NewJob } from './jobs.ts';
import type { Change } from './management.ts';

export interface NewIntern {
  intern: Intern;
  /** SHA-256 of the facts that identify a retry of the same request, for one member in one workspace. */
  requestHash: string;
  /** SHA-256 of the whole body. */
  bodyHash: string;
  /** Maximum number of interns of the member in all workspaces. */
  maxPerMember: number;
  /** Whether a new intern may borrow the vault that it names. */
  canAttach: boolean;
  change: Change;
}

/** `body`: the request is known with another body. `name`: the member has an intern of this name.
 * `vault`: it cannot be borrowed. */
export type InternRefusal = 'body' | 'name' | 'limit' | 'vault' | 'workspace';

/** `isNew`: this request created it, not an earlier one. */
export type InternInsert = { refusal: InternRefusal } | { refusal?: undefined; intern: Intern; isNew: boolean };

export interface InternQuery {
  workspaceId: string;
  /** Only those of a member. */
  creatorId?: string | undefined;
  statuses?: readonly InternStatus[] | undefined;
  /** Only older ones than this. */
  after?: { createdAtMs: number; id: string } | undefined;
  limit: number;
}

/** Fields that change after the creation. */
export type InternFields = Partial<
  Omit<Intern, 'id' | 'workspaceId' | 'creatorId' | 'vaultId' | 'attachedVaultId' | 'createdAtMs'>
>;

/** A change in one transaction. */
export interface InternUpdate {
  id: string;
  /** Does nothing in another status. */
  from: readonly InternStatus[];
  fields: InternFields;
  /** Whether the current model and instructions become the provisioned ones. */
  provisions?: boolean;
  /** Does nothing if the lease is lost. */
  lease?: JobLease | undefined;
  /** Work that the change requests. */
  job?: NewJob | undefined;
  audit?: { change: Change; event: AuditEvent } | undefined;
}

/** The configuration of an intern that its runtime has, until the next provisioning. */
export type ProvisionedConfiguration = Pick<Intern, 'model' | 'instructions'>;

/** Facts about the interns of a workspace that a change of the workspace needs. */
export interface InternCounter {
  countInterns(workspaceId: string): Promise<number>;
}

/** Interns of workspaces. Changes no revision. */
export interface InternStore {
  /** Inserts an intern with its audit entry, or finds the one that the same request has created. */
  addIntern(intern: NewIntern): Promise<InternInsert>;
  findIntern(id: string): Promise<Intern | undefined>;
  /** Finds what an intern was last provisioned with. */
  findProvisioned(id: string): Promise<ProvisionedConfiguration | undefined>;
  findInternByHostname(hostname: string): Promise<Intern | undefined>;
  /** Finds the intern that owns a vault. */
  findInternByVault(vaultId: string): Promise<Intern | undefined>;
  /** Lists the newest first. */
  listInterns(query: InternQuery): Promise<Intern[]>;
  countInternStatuses(): Promise<{ status: InternStatus; count: number }[]>;
  /** @returns the intern after the change; undefined: the status, the lease or the row is another. `name`: it is taken */
  updateIntern(update: InternUpdate): Promise<Intern | 'name' | undefined>;
  /** Deletes a row in the status `destroying`. @returns whether the lease is valid */
  deleteIntern(id: string, lease: JobLease, change: Change): Promise<boolean>;
}
