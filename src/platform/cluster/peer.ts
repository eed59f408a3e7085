import type { Channel } from './channel.ts';
import { type SerializedError, deserializeError, serializeError } from './serialize-error.ts';

/** A service from the view of the other process: the same methods, each with a promise. */
export type Remote<Service extends object> = {
  readonly [Name in keyof Service]: Service[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : Service[Name] extends object
      ? Remote<Service[Name]>
      : never;
};

/** One end of a channel. It offers services and calls those of the other end. */
export interface Peer {
  /** Offers an object under a name. The other end can call its methods, and those of nested objects. */
  provide(name: string, service: object): void;
  /**
   * Returns a service of the other end. Arguments and results are structured clones. An error of the service is thrown
   * here, with its name, message and fields (`code`, `errcode`, …). A `GatewayError` remains one.
   *
   * Each call rejects with a `PeerClosedError` if the other end has closed. It is then unknown whether the call was
   * executed.
   *
   * @param closed after its abort, new calls reject with its reason; calls in flight continue
   */
  use<Service extends object>(name: string, closed?: AbortSignal): Remote<Service>;
  /**
   * Calls a method without a result. It costs half as much as a call with a result and creates no promise. The call is
   * lost if the other end does not offer the service at that time.
   */
  tell(service: string, method: string, ...args: unknown[]): void;
  /** Aborted when the other end has closed. */
  readonly gone: AbortSignal;
}

/** The other process has ended, or is about to end. */
export class PeerClosedError extends Error {
  readonly code = 'HEADGATE_PEER_GONE';
  override readonly name = 'PeerClosedError';
}

type Frame =
  | readonly [kind: 'call', id: number, service: string, path: readonly string[], args: readonly unknown[]]
  | readonly [kind: 'tell', service: string, path: readonly string[], args: readonly unknown[]]
  | readonly [kind: 'done', id: number, result: unknown]
  | readonly [kind: 'failed', id: number, error: SerializedError];

interface OpenCall {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

/**
 * Makes calls over a channel, in both directions. All calls and results of one turn of the event loop are one message,
 * because a message costs far more than its content.
 */
export function openPeer(channel: Channel): Peer {
  const services = new Map<string, object>();
  const open = new Map<number, OpenCall>();
  const gone = new AbortController();
  let outbox: Frame[] = [];
  let calls = 0;

  function push(frame: Frame): void {
    if (outbox.push(frame) === 1) setImmediate(flush);
  }

  function flush(): void {
    const frames = outbox;
    outbox = [];
    if (gone.signal.aborted) return;
    try {
      channel.send(frames);
    } catch {
      for (const frame of frames) sendAlone(frame); // one of them cannot be cloned and must not affect the others
    }
  }

  function sendAlone(frame: Frame): void {
    try {
      channel.send([frame]);
    } catch (error) {
      const [kind, id] = frame;
      if (kind === 'call') settle(id)?.reject(asError(error));
      else if (kind === 'done' || kind === 'failed') channel.send([['failed', id, serializeError(asError(error))]]);
      else throw error; // not deliverable: a bug in the program
    }
  }

  function settle(id: number): OpenCall | undefined {
    const call = open.get(id);
    open.delete(id);
    return call;
  }

  function take(frame: Frame): void {
    switch (frame[0]) {
      case 'call':
        answer(frame[1], frame[2], frame[3], frame[4]);
        break;
      case 'tell':
        if (services.has(frame[1])) run(frame[1], frame[2], frame[3]);
        break;
      case 'done':
        settle(frame[1])?.resolve(frame[2]);
        break;
      case 'failed':
        settle(frame[1])?.reject(deserializeError(frame[2]));
        break;
    }
  }

  function answer(id: number, service: string, path: readonly string[], args: readonly unknown[]): void {
    const done = (result: unknown): void => push(['done', id, result]);
    const failed = (error: unknown): void => push(['failed', id, serializeError(error)]);
    try {
      const result = run(service, path, args);
      if (result instanceof Promise) result.then(done, failed);
      else done(result);
    } catch (error) {
      failed(error);
    }
  }

  function run(name: string, path: readonly string[], args: readonly unknown[]): unknown {
    // Each member of the path is an object, except the last one, which is a method. The type `Remote` has checked that
    // at the other end.
    let owner: unknown;
    let member: unknown = services.get(name);
    for (const step of path) {
      owner = member;
      member = (owner as Record<string, unknown> | undefined)?.[step];
    }
    if (typeof member !== 'function') throw new Error(`The other process has no ${[name, ...path].join('.')}.`);
    return Reflect.apply(member, owner, args);
  }

  channel.onMessage((message) => {
    if (Array.isArray(message)) for (const frame of message as Frame[]) take(frame);
  });
  channel.onClose(() => {
    gone.abort();
    const left = [...open.values()];
    open.clear();
    for (const { reject } of left) reject(new PeerClosedError('The other process ended before it responded.'));
  });

  return {
    provide: (name, service) => void services.set(name, service),
    use<Service extends object>(name: string, closed?: AbortSignal) {
      const call = (path: readonly string[], args: readonly unknown[]): Promise<unknown> => {
        if (closed?.aborted) return Promise.reject(asError(closed.reason));
        if (gone.signal.aborted) return Promise.reject(new PeerClosedError('The other process has ended.'));
        const id = ++calls;
        return new Promise((resolve, reject) => {
          open.set(id, { resolve, reject });
          push(['call', id, name, path, args]);
        });
      };
      return makeRemote([], call) as unknown as Remote<Service>; // a proxy that has every member
    },
    tell: (service, method, ...args) => push(['tell', service, [method], args]),
    gone: gone.signal,
  };
}

/** Creates a proxy. Each member is both an object with members and a method. */
function makeRemote(path: readonly string[], call: (path: readonly string[], args: readonly unknown[]) => unknown) {
  const members = new Map<string, unknown>();
  return new Proxy(() => {}, {
    get(_, name) {
      if (typeof name === 'symbol' || name === 'then') return undefined; // allows an await of the proxy without a call
      const known = members.get(name) ?? makeRemote([...path, name], call);
      members.set(name, known);
      return known;
    },
    apply: (_, __, args) => call(path, args),
  });
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
