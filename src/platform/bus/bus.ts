/**
 * News between the processes of a gateway: the workers of a host (`ipc/`), hosts on one PostgreSQL (`postgres/`). A process
 * alone has none. One `contract.ts` for both.
 *
 * News may be lost, and come late: they make others know sooner what they would find out anyway, and nothing is wrong
 * without them.
 */
export interface Bus {
  /**
   * Tells all others, never this one. Returns at once.
   *
   * @param message as JSON, up to 7,000 bytes; listeners may be of another build and must look at it before they use it
   */
  publish(topic: string, message: unknown): void;
  /** Calls back with all that others publish, in the order of each of them. Must not throw. */
  subscribe(listener: Listener): void;
  close(): Promise<void>;
}

export type Listener = (topic: string, message: unknown) => void;
