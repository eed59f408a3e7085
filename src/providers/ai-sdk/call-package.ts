import { GatewayError } from '../../domain/errors.ts';
import type { Frame, UpstreamRequest } from '../wire.ts';
import type { ProviderEntry } from '../provider.ts';
import type { UpstreamTimeouts } from '../transport.ts';
import { readPackageError } from './errors.ts';
import { type FoundPackage, findFactory } from './load-package.ts';
import type { LanguageModel } from './model.ts';
import type { ReaderContext } from './request.ts';

/** The return value of a package's factory: a function that takes a model name and may have an equivalent method. */
type Models = ((name: string) => LanguageModel) & { languageModel?: (name: string) => LanguageModel };

/**
 * Creates the function that sends requests through the package. The first request imports the package. Buffered
 * responses are streamed, too, so there is one path.
 */
export function createPackageCaller(entry: ProviderEntry, found: FoundPackage) {
  let opening: Promise<Models> | undefined;

  return async function* answer(request: UpstreamRequest<unknown>, signal: AbortSignal): AsyncGenerator<Frame[]> {
    const clock = new Clock(entry.timeouts, entry.name, signal);
    try {
      opening ??= open(entry, found);
      const { upstreamModel } = request.readerContext as ReaderContext; // our own request
      const model = await modelOf(opening, upstreamModel);
      clock.wait(entry.timeouts.firstByteMs, 'sent no answer');
      const asked = Promise.resolve(model.doStream({ ...request.body, abortSignal: clock.signal }));
      const { stream } = await clock.race(asked);
      const reader = stream.getReader();
      try {
        for (let next = await clock.race(reader.read()); !next.done; next = await clock.race(reader.read())) {
          clock.wait(entry.timeouts.idleMs, 'fell silent');
          yield [{ event: '', data: JSON.stringify(next.value, writeValue) }];
        }
      } finally {
        reader.cancel().catch(() => {}); // the stream has ended or was interrupted
      }
    } catch (error) {
      if (clock.reason) throw clock.reason;
      throw readPackageError(error, entry.name);
    } finally {
      clock.stop();
    }
  };
}

async function open(
  { apiKeys, baseUrl, headers, settings, factory }: ProviderEntry,
  found: FoundPackage,
): Promise<Models> {
  const exported = (await import(found.url)) as Record<string, unknown>;
  const create = findFactory(exported, found.name, factory);
  return create({
    ...(apiKeys[0] === undefined ? undefined : { apiKey: apiKeys[0] }),
    ...(baseUrl === undefined ? undefined : { baseURL: baseUrl }),
    ...(Object.keys(headers).length === 0 ? undefined : { headers }),
    ...settings,
  }) as Models; // by the SDK's contract; an invalid provider fails at its first call
}

async function modelOf(opening: Promise<Models>, name: string): Promise<LanguageModel> {
  const models = await opening;
  const model = models.languageModel ? models.languageModel(name) : models(name);
  if (typeof model?.doStream === 'function' && model.specificationVersion === 'v4') return model;
  throw new GatewayError(
    'upstream_failed',
    'The package implements another version of the AI SDK than 4. Install its latest version.',
    {
      retryable: true,
    },
  );
}

/** Replaces bytes and errors, which have no JSON representation. */
function writeValue(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return value instanceof Error ? { ...value, name: value.name, message: value.message } : value;
}

/** The time limits of one attempt and the signal of the client. */
class Clock {
  /** Why the gateway ended the attempt. */
  reason: GatewayError | undefined;
  readonly signal: AbortSignal;
  private readonly controller = new AbortController();
  private readonly name: string;
  private readonly client: AbortSignal;
  private readonly total: NodeJS.Timeout;
  private timer: NodeJS.Timeout | undefined;
  private readonly cut: Promise<never>;
  private readonly leave = () => this.end(this.client.reason as GatewayError); // by the contract of `send`

  constructor(timeouts: UpstreamTimeouts, name: string, client: AbortSignal) {
    this.name = name;
    this.client = client;
    this.signal = this.controller.signal;
    this.cut = new Promise((_, reject) => {
      this.signal.addEventListener('abort', () => reject(this.reason));
    });
    this.cut.catch(() => {});
    this.total = setTimeout(() => this.late('took longer', 'in all', timeouts.totalMs), timeouts.totalMs);
    if (client.aborted) this.leave();
    else client.addEventListener('abort', this.leave);
  }

  /** @param what the event for the message if nothing arrives within `ms` */
  wait(ms: number, what: string): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.late(what, '', ms), ms);
  }

  race<Value>(work: Promise<Value>): Promise<Value> {
    return Promise.race([work, this.cut]);
  }

  stop(): void {
    clearTimeout(this.timer);
    clearTimeout(this.total);
    this.client.removeEventListener('abort', this.leave);
    this.controller.abort();
  }

  private late(what: string, where: string, ms: number): void {
    const text = `${this.name} ${what}${where === '' ? ` for ${ms} ms` : ` than ${ms} ms ${where}`}.`;
    this.end(new GatewayError('upstream_timeout', text, { retryable: true }));
  }

  private end(reason: GatewayError): void {
    this.reason ??= reason;
    this.controller.abort(reason);
  }
}
