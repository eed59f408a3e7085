import type { Config } from '../config/schema.ts';
import { findGateway } from './find-gateway.ts';
import { CommandError, type Terminal } from './terminal.ts';

export interface InternApiOptions {
  /** Base URL of the gateway. Absent: the address in the configuration. */
  url?: string;
}

/** Calls the API of a gateway about one intern. choice 721 */
export interface InternApi {
  name: string;
  /** @param path below `/interns/{id}` @throws {CommandError} with the message of the gateway */
  call(path: string, body?: object): Promise<Response>;
}

/** Another status than 2xx. */
export class RejectedError extends CommandError {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.name = 'RejectedError';
    this.status = status;
  }
}

interface InternPage {
  data: { id: string; name: string }[];
  next_cursor?: string;
}

/**
 * Finds an intern by its name or id through the API of a running gateway, with the key of `HEADGATE_KEY`.
 *
 * @throws {CommandError}
 */
export async function openInternApi(
  { env }: Pick<Terminal, 'env'>,
  { server }: Pick<Config, 'server'>,
  wanted: string,
  { url }: InternApiOptions,
): Promise<InternApi> {
  const key = env['HEADGATE_KEY'];
  if (!key)
    throw new CommandError('Set HEADGATE_KEY to an inference key of a member. "headgate keys create" creates one.');
  const base = url?.replace(/\/+$/, '') ?? (await findGateway(server))?.url;
  if (base === undefined) {
    throw new CommandError(`No gateway responds at port ${server.port}. Start it, or name it with --url.`);
  }
  const call = async (path: string, body?: object): Promise<Response> => {
    const response = await fetch(`${base}/api/v1/interns${path}`, {
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    if (response.ok) return response;
    const { error } = ((await response.json().catch(() => undefined)) ?? {}) as { error?: { message?: string } };
    throw new RejectedError(response.status, error?.message ?? `The gateway responded with ${response.status}.`);
  };
  for (let query = '?limit=500'; ; ) {
    const { data, next_cursor: next } = (await (await call(query)).json()) as InternPage;
    const found = data.find(({ id, name }) => id === wanted || name === wanted);
    if (found) return { name: found.name, call: (path, body) => call(`/${found.id}${path}`, body) };
    if (next === undefined) throw new CommandError(`The key has no access to an intern "${wanted}".`);
    query = `?limit=500&starting_after=${encodeURIComponent(next)}`;
  }
}

/** Prints the log of the agent of an intern. @param follows whether to go on until it stops */
export async function printInternLog(
  { stdout, closed }: Pick<Terminal, 'stdout' | 'closed'>,
  api: InternApi,
  { follows }: { follows: boolean },
): Promise<void> {
  const { body } = await api.call(`/logs${follows ? '?follow=true' : ''}`);
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader(); // a 200 has a body
  const stop = (): void => void reader.cancel().catch(() => {});
  closed?.addEventListener('abort', stop, { once: true });
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    stdout.write(value);
    await stdout.drain?.();
  }
}
