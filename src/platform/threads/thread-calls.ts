import { MessagePort } from 'node:worker_threads';

/** One end of a connection to another thread or process. */
export interface CallPort {
  // biome-ignore lint/suspicious/noExplicitAny: each side declares the messages that it receives, as with Node's own ports
  on(event: 'message', listener: (message: any) => void): unknown;
  postMessage(message: unknown, transfer: MessagePort[]): void;
}

/** The functions that a thread offers to another one. Arguments and results are cloned. */
// biome-ignore lint/suspicious/noExplicitAny: `CallThread` has the types of a table; the side that responds has none
export type ThreadFunctions = Record<string, (...parameters: any[]) => unknown>;

interface Call {
  id: number;
  name: string;
  parameters: unknown[];
}

type Outcome = { id: number; value: unknown } | { id: number; message: string; code?: string };

/** Calls a function of the other thread. Calls start in their order. */
export type CallThread<Functions> = <Name extends keyof Functions & string>(
  name: Name,
  ...parameters: Functions[Name] extends (...all: infer Parameters extends unknown[]) => unknown ? Parameters : never
) => Promise<Functions[Name] extends (...all: never) => infer Result ? Awaited<Result> : never>;

export function serveCalls(port: CallPort, functions: ThreadFunctions): void {
  port.on('message', ({ id, name, parameters }: Call) => {
    const respond = (outcome: Outcome): void => port.postMessage(outcome, []);
    const fail = (error: unknown): void => {
      const { message, code } = error as NodeJS.ErrnoException;
      respond({ id, message, ...(code === undefined ? undefined : { code }) });
    };
    try {
      const result = functions[name]!(...parameters);
      if (result instanceof Promise) result.then((value) => respond({ id, value }), fail);
      else respond({ id, value: result });
    } catch (error) {
      fail(error);
    }
  });
}

/** @returns the calls, and a function that rejects those in flight and all later ones */
export function openCalls<Functions>(port: CallPort): {
  call: CallThread<Functions>;
  fail: (error: Error) => void;
} {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let calls = 0;
  let failure: Error | undefined;
  port.on('message', (outcome: Outcome) => {
    const call = waiting.get(outcome.id);
    waiting.delete(outcome.id);
    if ('value' in outcome) call?.resolve(outcome.value);
    else call?.reject(Object.assign(new Error(outcome.message), { code: outcome.code }));
  });
  const call = (name: string, ...parameters: unknown[]): Promise<unknown> => {
    if (failure) return Promise.reject(failure);
    const result = Promise.withResolvers<unknown>();
    const id = ++calls;
    waiting.set(id, result);
    const ports = parameters.filter((each) => each instanceof MessagePort);
    port.postMessage({ id, name, parameters } satisfies Call, ports);
    return result.promise;
  };
  const fail = (error: Error): void => {
    failure ??= error;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  return { call: call as CallThread<Functions>, fail };
}
