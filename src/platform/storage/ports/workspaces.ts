import { noRateLimits, type RateLimits } from '../../../domain/rate-limits.ts';
import type { SavedPlugin } from '../../../domain/request-defaults.ts';
import type { Listed, Page } from './page.ts';

export interface WorkspaceRecord {
  id: string;
  name: string;
  createdAtMs: number;
}

export interface WorkspaceDetails extends WorkspaceRecord {
  slug: string;
  updatedAtMs: number | null;
  settings: WorkspaceSettings;
}

export interface WorkspaceSettings {
  description: string | null;
  defaultTextModel: string | null;
  defaultImageModel: string | null;
  defaultProviderSort: string | null;
  defaultPlugins: SavedPlugin[] | null;
  /** Types of server tools that its requests must not use. */
  disabledServerTools: string[] | null;
  ioLogging: boolean;
  broadcast: boolean;
  dataDiscountLogging: boolean;
  /** From 0.0001 to 1. */
  ioLoggingSamplingRate: number;
  /** Null: all keys. */
  ioLoggingApiKeyIds: number[] | null;
  includeByokInBudgets: boolean;
  /** Replaces `ledger.retention_days`. 0: entries stay in the ledger. */
  ledgerRetentionDays: number | null;
  /** For all keys of the workspace together. */
  rateLimits: RateLimits;
}

export const defaultWorkspaceSettings: Readonly<WorkspaceSettings> = {
  description: null,
  defaultTextModel: null,
  defaultImageModel: null,
  defaultProviderSort: null,
  defaultPlugins: null,
  disabledServerTools: null,
  ioLogging: false,
  broadcast: false,
  dataDiscountLogging: false,
  ioLoggingSamplingRate: 1,
  ioLoggingApiKeyIds: null,
  includeByokInBudgets: false,
  ledgerRetentionDays: null,
  rateLimits: noRateLimits,
};

/** The settings of a workspace that apply to the requests of its keys. */
export interface AppliedSettings
  extends Pick<
    WorkspaceSettings,
    'defaultTextModel' | 'defaultImageModel' | 'defaultProviderSort' | 'defaultPlugins' | 'disabledServerTools'
  > {
  workspaceId: string;
  /** Null: no contents are stored. */
  ioLogging: IoLogging | null;
  /** Null: no limits. */
  rateLimits: RateLimits | null;
}

/** Which contents of a workspace are stored. */
export interface IoLogging {
  /** From 0.0001 to 1. */
  samplingRate: number;
  /**
   * Null: all keys.
   *
   * @see access/key-text.ts, `deriveKeyNumber`
   */
  apiKeyIds: readonly number[] | null;
}

/** Workspaces as the gateway and the bootstrap configuration use them. */
export interface AccessWorkspaces {
  listWorkspaces(): Promise<WorkspaceRecord[]>;
  /** Creates or renames, by id. A new workspace gets a unique slug, derived from its name. */
  putWorkspace(workspace: WorkspaceRecord): Promise<void>;
  /** Replaces the saved plugins of a workspace. Identical plugins are not a change; an unknown id changes nothing. */
  setDefaultPlugins(id: string, plugins: SavedPlugin[]): Promise<void>;
  /** Lists the settings that apply to requests, in any order. Omits workspaces that have only defaults. */
  listAppliedSettings(): Promise<AppliedSettings[]>;
}

export interface WorkspaceReader {
  /** @param id or slug; an id takes precedence over a slug */
  findWorkspace(id: string): Promise<WorkspaceDetails | undefined>;
  /** Lists the oldest first. */
  listWorkspaces(page: Page): Promise<Listed<WorkspaceDetails>>;
}

export interface WorkspaceWriter extends WorkspaceReader {
  findWorkspaceByName(name: string): Promise<WorkspaceDetails | undefined>;
  /** @returns the workspace with this name, or else the oldest */
  findDefaultWorkspace(name: string): Promise<WorkspaceDetails | undefined>;
  /** Creates or replaces, by id. */
  saveWorkspace(workspace: WorkspaceDetails): Promise<void>;
  /** Also deletes its budgets, guardrails and memberships. */
  deleteWorkspace(id: string): Promise<void>;
}
