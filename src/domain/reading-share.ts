/** The use that one request makes of the readers of files, whose time is limited for each request. */
export interface ReadingShare {
  readonly workspaceId: string;
  /** Milliseconds that its files have occupied readers. */
  usedMs: number;
}
