/** Bytes as text, one character from U+0000 to U+00FF for each. Paths of a container need not be UTF-8. */
export type ByteText = string;

/** Containers with such an id keep the files of interns. Callers cannot name them, and they are kept without a use. */
export const INTERN_CONTAINER_PREFIX = 'intern:';

/** A container of a workspace. Its files are saved; what runs in it is a lease. */
export interface ContainerRecord {
  /** Random. A container that is created again under the same id has another key. */
  key: string;
  workspaceId: string;
  id: string;
  createdAtMs: number;
  /** When a tool opened it last, or its last sandbox stopped. */
  usedAtMs: number;
  /** Grows with every save. */
  version: number;
  /** Size of its files together. */
  bytes: number;
  /** Its files, folders and links. */
  entries: number;
}

/** The right to run one sandbox of a container and to save its files, until it expires or ends. */
export interface ContainerLease {
  /** Random, for one sandbox. */
  token: string;
  containerKey: string;
  /** The kind of tool. Each has its own sandbox. */
  compute: string;
  /** Its running sandboxes are counted together. */
  holder: string;
  /** The network policy of the sandbox. */
  policy: string;
  startedAtMs: number;
  untilMs: number;
  stop: StopRequest;
}

/** `idle`: stop the sandbox after its running commands. `now`: end them, too. */
export type StopRequest = 'none' | 'idle' | 'now';

export interface NewLease extends Omit<ContainerLease, 'stop'> {
  /** Maximum leases of the holder that have not expired. */
  maxHeld: number;
}

/** `held`: another sandbox has it. `limit`: the holder has too many. `gone`: there is no such container. */
export type LeaseRefusal =
  | { reason: 'held'; lease: ContainerLease }
  | { reason: 'limit'; leases: ContainerLease[] }
  | { reason: 'gone' };

/** Where the content of a file is: a part of an object. */
export interface ContentPlace {
  /** Id of the object, unique in the container. */
  object: string;
  offset: number;
}

/** PostgreSQL has no index over longer values. */ // choice 509
export const MAX_SAVED_PATH_BYTES = 2000;

/** A file, a folder or a link. */
export interface ContainerEntry {
  /** Relative to the home folder, with `/`. At most `MAX_SAVED_PATH_BYTES`. */
  path: ByteText;
  kind: 'file' | 'folder' | 'link';
  /** Size of a file; 0 for others. */
  bytes: number;
  mode: number;
  modifiedAtMs: number;
  /** Target of a link. */
  target: ByteText | null;
  /** Null for an empty file, a folder and a link. */
  content: ContentPlace | null;
}

/** An entry as it is stored. */
export interface SavedEntry extends ContainerEntry {
  savedAtMs: number;
  /** Version of the container that the save made. */
  version: number;
  /** Whether it has been deleted. Other sandboxes of the container learn of it. */
  isDeleted: boolean;
}

export interface ContainerSave {
  containerKey: string;
  /** The lease of the sandbox. */
  token: string;
  entries: readonly ContainerEntry[];
  deleted: readonly ByteText[];
  atMs: number;
  limits: ContainerLimits;
}

/** Limits of the saved files of one container. */
export interface ContainerLimits {
  bytes: number;
  entries: number;
}

/** `lease`: the sandbox has lost its lease. `gone`: the container was removed. `bytes`, `entries`: a limit. */
export type SaveRefusal = 'lease' | 'gone' | 'bytes' | 'entries';

export type SaveResult =
  | { refusal: SaveRefusal }
  | {
      refusal?: undefined;
      version: number;
      /** Objects that had content of replaced or deleted entries. */
      released: string[];
    };

export interface ContainerListQuery {
  containerKey: string;
  /** Only paths after this one, which need not exist. */
  after?: ByteText | undefined;
  limit: number;
  /** Maximum entries that are read, with hidden ones. */
  maxScanned: number;
}

/** Files in the order of the bytes of their paths. Folders, links, deleted files and names that are not UTF-8 are hidden. */
export interface ContainerFilePage {
  files: ListedContainerFile[];
  /** The list continues after this path. Undefined: it is complete. It can be a hidden one, if too many had to be read. */
  next: ByteText | undefined;
}

export type ListedContainerFile = Pick<SavedEntry, 'path' | 'bytes' | 'savedAtMs'>;

export interface ContainerEntryQuery {
  containerKey: string;
  /** Only entries of later versions, and of this version after the path. Without a path: none of this version. */
  after: { version: number; path?: ByteText };
  limit: number;
}

export interface ContentQuery {
  containerKey: string;
  /** Only content after this place and path. */
  after?: (ContentPlace & { path: ByteText }) | undefined;
  limit: number;
}

/** How much of an object is content of existing files. */
export interface ObjectUse {
  object: string;
  files: number;
  bytes: number;
}

/** The content of a file that was copied to another object. */
export interface MovedContent {
  path: ByteText;
  from: ContentPlace;
  to: ContentPlace;
}

/** Containers of workspaces, their running sandboxes and their saved files. Changes no revision. */
export interface ContainerStore {
  /**
   * Finds or creates a container, and notes that it is used.
   *
   * @param newKey of a new one
   * @returns undefined if the workspace does not exist
   */
  useContainer(workspaceId: string, id: string, newKey: string, atMs: number): Promise<ContainerRecord | undefined>;
  findContainer(workspaceId: string, id: string): Promise<ContainerRecord | undefined>;
  /** Lists the containers with an id in all workspaces. */
  findContainers(id: string): Promise<ContainerRecord[]>;
  /** Lists by id. */
  listContainers(query: { workspaceId: string; after?: string | undefined; limit: number }): Promise<ContainerRecord[]>;
  /** Lists containers that no tool has opened since then and that have no lease, except those of interns. */
  listUnusedContainers(query: { beforeMs: number; nowMs: number; limit: number }): Promise<ContainerRecord[]>;
  /**
   * Deletes a container and its leases; `deleteOrphans` deletes its files.
   *
   * @param unused deletes it only if `listUnusedContainers` still returns it
   * @returns whether it was deleted
   */
  deleteContainer(key: string, unused?: { beforeMs: number; nowMs: number }): Promise<boolean>;
  /** Returns those of the keys that exist. */
  listExistingContainers(keys: readonly string[]): Promise<string[]>;
  /** Deletes saved entries of deleted containers. @returns how many, at most `limit` */
  deleteOrphans(limit: number): Promise<number>;
  /** Deletes what is left of deleted entries of containers without a lease. @returns how many, at most `limit` */
  deleteTombstones(nowMs: number, limit: number): Promise<number>;

  /** Calls of all processes run one at a time. @returns why there is no lease; undefined: there is */
  acquireLease(lease: NewLease): Promise<LeaseRefusal | undefined>;
  /** @returns the existing ones, with the requests for each */
  renewLeases(tokens: readonly string[], untilMs: number): Promise<Pick<ContainerLease, 'token' | 'stop'>[]>;
  /** Ends a lease, and notes that its container was used until then. */
  releaseLease(token: string, atMs: number): Promise<void>;
  /** Releases the leases of processes that have ended, if no other process can have one. */
  releaseAllLeases(): Promise<void>;
  /** Lists the leases of a container that have not expired. */
  listLeases(containerKey: string, nowMs: number): Promise<ContainerLease[]>;
  /** Does not weaken an earlier request. */
  requestStop(token: string, stop: Exclude<StopRequest, 'none'>): Promise<void>;

  /** Saves entries and deletions in one transaction. Entries with the same path are replaced. */
  saveEntries(save: ContainerSave): Promise<SaveResult>;
  listFiles(query: ContainerListQuery): Promise<ContainerFilePage>;
  /** Finds an entry that is not deleted. */
  findEntry(containerKey: string, path: ByteText): Promise<SavedEntry | undefined>;
  /** Lists entries, also deleted ones, by version and path. */
  listEntries(query: ContainerEntryQuery): Promise<SavedEntry[]>;
  /** Lists files with content by object and offset. */
  listContents(query: ContentQuery): Promise<SavedEntry[]>;
  /** Returns the use of those objects that are used. */
  readObjectUse(containerKey: string, objects: readonly string[]): Promise<ObjectUse[]>;
  /** Changes the place of contents that are still where they were. */
  moveContents(containerKey: string, moves: readonly MovedContent[]): Promise<void>;
}
