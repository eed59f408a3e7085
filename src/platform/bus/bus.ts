/**
 * Messages between the processes of a gateway: the workers of a host (`ipc/`), hosts on one PostgreSQL (`postgres/`),
 * or a single process (`memory/`). The drivers share `contract.ts`.
 *
 * Messages can be lost or late. They only inform other processes sooner of changes that these processes also detect
 * without them.
 */
export interface Bus {
  /** Sends to all other processes, never to this one. Returns at once. */
  publish<Payload>(topic: Topic<Payload>, payload: Payload): void;
  /**
   * Calls the listener with each message that another process publishes, in the order of that process.
   *
   * @param listener must not throw
   * @returns a function that ends the subscription
   */
  subscribe<Payload>(topic: Topic<Payload>, listener: (payload: Payload) => void): () => void;
  close(): Promise<void>;
}

/** A kind of message. The payload is sent as JSON of at most 7,000 bytes. */
export interface Topic<Payload> {
  /** The same in all processes. */
  readonly name: string;
  /**
   * Validates a message, because another build may have sent it.
   *
   * @returns undefined if it is unknown: no listener receives it
   */
  read(message: unknown): Payload | undefined;
}

/** Carries messages between processes. */
export interface BusDriver {
  /** Sends to all other processes, never to this one. Returns at once. */
  send(topic: string, message: unknown): void;
  /** Sets the receiver of all messages from other processes. Called once. */
  receive(receiver: MessageReceiver): void;
  close(): Promise<void>;
}

/** Must not throw. */
export type MessageReceiver = (topic: string, message: unknown) => void;

/** Creates a bus on a driver. Closing the bus closes the driver. */
export function createBus(driver: BusDriver): Bus {
  const listeners = new Map<string, Set<(message: unknown) => void>>();
  driver.receive((topic, message) => {
    for (const listen of listeners.get(topic) ?? []) listen(message);
  });
  return {
    publish: ({ name }, payload) => driver.send(name, payload),
    subscribe(topic, listener) {
      const listen = (message: unknown): void => {
        const payload = topic.read(message);
        if (payload !== undefined) listener(payload);
      };
      const ofTopic = listeners.get(topic.name) ?? new Set();
      listeners.set(topic.name, ofTopic.add(listen));
      return () => void ofTopic.delete(listen);
    },
    close: () => driver.close(),
  };
}
