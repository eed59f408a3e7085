import type { Chunk } from '../domain/chunks.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import { errorKinds, GatewayError } from '../domain/errors.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { PluginPart } from '../domain/plugin.ts';
import type { PluginSetting, ResponseRequest } from '../domain/request.ts';
import type { Sink } from '../domain/sink.ts';
import { untilCancelled } from '../domain/until-cancelled.ts';
import type { Plugin, PluginRun } from './plugin.ts';

/** Receives the failure of a plugin, for the log. */
export type ReportPluginFailure = (plugin: string, error: unknown, generationId: string) => void;

/** The functions of a part. */
const functions = ['open', 'adapt', 'describeFailure'] as const;

/**
 * Guards the gateway against the code of an operator. Whatever the plugin throws or returns wrongly is logged and fails
 * the request with an error that names the plugin. An error that the plugin throws on purpose, a `GatewayError`, stays
 * the error of the request.
 */
export function guardPlugin(plugin: Plugin, report: ReportPluginFailure): Plugin {
  const { id } = plugin;
  const convert = (error: unknown, { generationId }: PluginRun): GatewayError => {
    const meant = readMeantError(error);
    if (meant) return meant;
    report(id, error, generationId);
    return new GatewayError('internal', `The plugin ${id} failed. The log of the gateway has the reason.`, {
      cause: error,
    });
  };
  const guarded = <Result>(run: PluginRun, work: () => MaybePromise<Result>): MaybePromise<Result> => {
    try {
      const result = work();
      if (!isThenable(result)) return result;
      return Promise.resolve(result).catch((error) => {
        throw convert(error, run);
      });
    } catch (error) {
      throw convert(error, run);
    }
  };
  const guardPart = (run: PluginRun, part: PluginPart<PluginRun>): PluginPart<PluginRun> => ({
    ...(part.open && {
      open(_run: PluginRun, out: Sink<Chunk>) {
        const late = (error: unknown): void => report(id, error, run.generationId);
        const exit = new GuardedExit(out, late);
        const sink = guarded(run, () => checkSink(part.open!(run, exit)));
        const opened = sink as Exclude<typeof sink, Promise<unknown>>; // checkSink returns no promise
        return {
          write(chunks: Chunk[]) {
            const written = guarded(run, () => exit.during(() => opened.write(chunks)));
            return written instanceof Promise ? untilCancelled(written, run.cancellation) : undefined;
          },
          abandon() {
            exit.close();
            try {
              opened.abandon();
            } catch (error) {
              report(id, error, run.generationId); // the attempt has failed already
            }
          },
        };
      },
    }),
    ...(part.adapt && {
      adapt: (request: ResponseRequest, endpoint: EndpointFacts) =>
        guarded(run, () => then(part.adapt!(request, endpoint), checkRequestShape)),
    }),
    ...(part.describeFailure && {
      describeFailure(failure: GatewayError) {
        try {
          return part.describeFailure!(failure);
        } catch (error) {
          report(id, error, run.generationId); // the error of the request stays as it is
          return undefined;
        }
      },
    }),
  });
  return {
    id,
    prepare: (run: PluginRun, setting: PluginSetting | undefined) =>
      guarded(run, () =>
        then(plugin.prepare(run, setting), (part) => {
          if (part === undefined || part === null) return undefined;
          return guardPart(run, checkPart(part));
        }),
      ),
  };
}

/** The sink that a plugin writes to. It keeps the errors of late writes, from a timer for example, from the process. */
class GuardedExit implements Sink<Chunk> {
  private readonly out: Sink<Chunk>;
  private readonly report: (error: unknown) => void;
  private isClosed = false;
  private isInside = false;

  constructor(out: Sink<Chunk>, report: (error: unknown) => void) {
    this.out = out;
    this.report = report;
  }

  /** Runs a call of the plugin, whose errors are those of the request. */
  during<Result>(call: () => Result): Result {
    this.isInside = true;
    try {
      return call();
    } finally {
      this.isInside = false;
    }
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    if (this.isInside) return this.pass(chunks);
    try {
      return this.pass(chunks);
    } catch (error) {
      this.report(error);
      return undefined;
    }
  }

  close(): void {
    this.isClosed = true;
  }

  private pass(chunks: Chunk[]): Promise<void> | undefined {
    if (this.isClosed) return undefined; // the attempt has ended
    if (!Array.isArray(chunks) || !chunks.every((chunk) => typeof chunk?.type === 'string')) {
      throw new TypeError('`write` needs a list of chunks.');
    }
    if (chunks.at(-1)?.type === 'finish') this.close();
    return this.out.write(chunks);
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

const then = <Value, Result>(value: MaybePromise<Value>, next: (value: Value) => Result): MaybePromise<Result> =>
  isThenable(value) ? Promise.resolve(value).then(next) : next(value as Value);

function checkPart(part: unknown): PluginPart<PluginRun> {
  if (typeof part !== 'object') throw new TypeError('`prepare` must return an object or nothing.');
  for (const name of functions) {
    const value = (part as Record<string, unknown>)[name];
    if (value !== undefined && typeof value !== 'function') throw new TypeError(`\`${name}\` must be a function.`);
  }
  return part as PluginPart<PluginRun>;
}

function checkRequestShape(request: ResponseRequest): ResponseRequest {
  if (typeof request === 'object' && request !== null && Array.isArray(request.input)) return request;
  throw new TypeError('`adapt` must return a request with a list as `input`.');
}

function checkSink<Opened extends { write: unknown; abandon: unknown }>(sink: Opened): Opened {
  if (typeof sink?.write === 'function' && typeof sink.abandon === 'function') return sink;
  throw new TypeError('`open` must return an object with the functions `write` and `abandon`.');
}

/** Returns the error that a plugin throws on purpose. It may be from another copy of this package. */
function readMeantError(error: unknown): GatewayError | undefined {
  if (error instanceof GatewayError) return error;
  if (!(error instanceof Error) || error.name !== 'GatewayError') return undefined;
  const { kind, metadata } = error as { kind?: unknown; metadata?: unknown };
  if (typeof kind !== 'string' || !Object.hasOwn(errorKinds, kind)) return undefined;
  return new GatewayError(kind as keyof typeof errorKinds, error.message, {
    cause: error,
    ...(typeof metadata === 'object' && metadata !== null && { metadata: metadata as Record<string, unknown> }),
  });
}
