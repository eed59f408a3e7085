import type { Listed, Page } from './page.ts';

/** An action and its object. */
export interface AuditEvent {
  /** `key.create`, `workspace.update`, … */
  action: string;
  objectKind: string;
  objectId: string;
  /** Null if the object belongs to no workspace. */
  workspaceId: string | null;
  /** The changed fields, by their names in the API; never a secret. */
  changes: Record<string, FieldChange>;
}

export interface FieldChange {
  before: unknown;
  after: unknown;
}

export interface AuditEntry extends AuditEvent {
  id: string;
  atMs: number;
  /** The key that requested the change; null for the operator's command line. */
  actorKeyHash: string | null;
}

export interface AuditReader {
  /** Lists the newest first. */
  listAudit(page: Page): Promise<Listed<AuditEntry>>;
}

export interface AuditWriter {
  record(event: AuditEvent): Promise<void>;
}
