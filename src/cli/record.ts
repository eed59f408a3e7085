import { readFileSync } from 'node:fs';
import { basename, extname, resolve } from 'node:path';
import { createCatalog } from '../catalog/catalog.ts';
import { buildEndpoints } from '../compose/build-endpoints.ts';
import { listSecrets } from '../config/list-secrets.ts';
import type { Config, ProviderConfig } from '../config/schema.ts';
import { Cancellation } from '../domain/cancellation.ts';
import type { ResponseRequest } from '../domain/request.ts';
import { capture, type Exchange } from '../exchanges/capture.ts';
import {
  isName,
  nameRequestFile,
  nameResponseFile,
  type RecordedRequest,
  type ResponseMode,
  type SentRequest,
} from '../exchanges/file-names.ts';
import { prepareFolder, replaceFiles } from '../exchanges/folder.ts';
import { Mask } from '../exchanges/mask.ts';
import { writeRecording } from '../exchanges/recording.ts';
import { readJson } from '../http/read-json.ts';
import { bareEndpoint, type Endpoint, type Provider, settingsOf } from '../providers/provider.ts';
import { readRequest } from '../requests/responses/request.ts';
import { isObject } from '../schema/by-kind.ts';
import { CommandError, readMessage, type Terminal } from './terminal.ts';

export interface RecordOptions {
  /** Id in the configuration. */
  provider: string;
  /** Slug at the gateway, or the provider's own name. Absent: `model` of the body. */
  model?: string;
  /** File with the body of a `POST /responses`. */
  body: string;
  out: string;
  /** Absent: the name of the body's file. */
  name?: string;
  stream?: boolean;
  whole?: boolean;
  force?: boolean;
}

/**
 * Sends a request to a provider as the gateway does, streamed and buffered, and stores the responses without secrets.
 *
 * @returns the exit code: 1 if a response could not be recorded
 * @throws {CommandError} if no request could be sent, or a file cannot be written
 */
export async function recordExchange(terminal: Terminal, config: Config, options: RecordOptions): Promise<number> {
  const { stdout, stderr, cwd } = terminal;
  const name = readName(options);
  const { asked, request } = readBody(resolve(cwd, options.body), options);
  const entry = findProvider(config, options.provider);
  const folder = resolve(cwd, options.out);
  const writing = { force: options.force ?? false, shown: options.out };
  explainFiles(writing, () => prepareFolder(folder, name, writing.force));

  const own = [entry.api_key ?? [], Object.values(entry.headers ?? {})].flat(); // including short ones
  const mask = new Mask([...listSecrets(config), ...own, ...findPeople(request), ...findMcpSecrets(request)]);
  const { endpoint, provider } = findEndpoint(config, entry, request.model);
  const files = new Map<string, Buffer | string>();
  const sent: SentRequest[] = [];
  const kinds = readKinds(options);
  try {
    for (const kind of kinds) {
      const exchange = await tryCapture(endpoint, request, kind, config).catch((error: unknown) => {
        stderr.write(`headgate: no ${kind} response to record: ${mask.text(readMessage(error))}\n`);
      });
      if (!exchange) continue;
      const file = nameResponseFile(name, kind, exchange.answer.status);
      files.set(file, writeResponse(exchange, mask));
      sent.push(describeSent(file, exchange, mask));
    }
  } finally {
    await provider.close(true);
  }
  if (sent.length === 0) return 1;

  const { wire } = entry;
  const dialect = settingsOf(endpoint, provider.wire);
  const recorded: RecordedRequest = { wire, dialect, upstream_model: endpoint.upstreamModel, request: asked };
  files.set(nameRequestFile(name), `${JSON.stringify({ ...mask.json(recorded), sent }, undefined, 2)}\n`);
  explainFiles(writing, () => replaceFiles(folder, name, files, writing.force));
  for (const { answer, status, bytes, cut } of sent) {
    stdout.write(`${answer}: ${status}, ${bytes} bytes${cut === undefined ? '' : `, cut: ${cut}`}\n`);
  }
  stdout.write(
    `${nameRequestFile(name)}: the request\nRead the files in ${options.out} before you show them to others.\n`,
  );
  return sent.length < kinds.length ? 1 : 0;
}

/** Returns both kinds, unless the options name one. */
function readKinds({ stream = false, whole = false }: RecordOptions): ResponseMode[] {
  return stream === whole ? ['stream', 'whole'] : stream ? ['stream'] : ['whole'];
}

function readName({ name, body }: RecordOptions): string {
  const settled = name ?? basename(body, extname(body));
  if (isName(settled)) return settled;
  throw new CommandError(
    `${name === undefined ? 'The file of --body' : '--name'} is not a name for files: "${settled}". ` +
      'Give --name with letters, digits, "-", "_" and ".", a letter or digit first.',
  );
}

/** @returns the original body with the named model, and the request that the gateway reads from it */
function readBody(
  file: string,
  { body, model }: RecordOptions,
): { asked: Record<string, unknown>; request: ResponseRequest } {
  try {
    const given = readJson(readFileSync(file));
    const asked = isObject(given) && model !== undefined ? { ...given, model, models: undefined } : given;
    const { request } = readRequest(structuredClone(asked), {});
    return { asked: asked as Record<string, unknown>, request }; // validation has found an object
  } catch (error) {
    throw new CommandError(`--body ${body}: ${readMessage(error)}`, { cause: error });
  }
}

function findProvider({ providers }: Config, id: string): ProviderConfig {
  const entry = providers.find((one) => one.id === id);
  if (entry) return entry;
  const known = providers.map((one) => one.id).join(', ');
  throw new CommandError(`There is no provider "${id}" in the configuration (known: ${known}).`);
}

/** Finds the endpoint of a slug. Any other name is the provider's name of a model. */
function findEndpoint(
  config: Config,
  entry: ProviderConfig,
  model: string | undefined,
): { endpoint: Endpoint; provider: Provider } {
  if (model === undefined) throw new CommandError('Name a model, with --model or in the body.');
  const { endpoints, providers } = buildEndpoints({ ...config, providers: [entry] });
  const provider = providers[0]!; // of the only entry
  const [found] = createCatalog(endpoints).find(model);
  return { endpoint: found ?? bareEndpoint(provider, model, model), provider };
}

/** Returns ids of end users, which are neither sent to a provider nor stored in a file. */
const findPeople = ({ user, safety_identifier, session_id }: ResponseRequest): string[] =>
  [user, safety_identifier, session_id].filter((id) => typeof id === 'string');

/** Returns the secrets of MCP servers, which are in the body. */
const findMcpSecrets = ({ tools = [] }: ResponseRequest): string[] =>
  tools.flatMap((tool) => {
    if (tool.type !== 'mcp') return [];
    const { authorization, headers } = tool as { authorization?: string; headers?: Record<string, string> | null };
    return [authorization ?? [], Object.values(headers ?? {})].flat();
  });

function tryCapture(
  endpoint: Endpoint,
  request: ResponseRequest,
  kind: ResponseMode,
  config: Config,
): Promise<Exchange> {
  return capture(endpoint, structuredClone(request), {
    stream: kind === 'stream',
    limitBytes: config.server.upstream_body_limit,
    cancellation: new Cancellation(),
  });
}

function writeResponse({ answer }: Exchange, mask: Mask): Buffer {
  const body = mask.bytes(answer.body);
  const headers = mask.responseHeaders(answer.headers);
  if (headers['content-length'] !== undefined) headers['content-length'] = String(body.length);
  return writeRecording({ status: answer.status, headers, body });
}

function describeSent(file: string, { sent, sentHeaders, answer, cut }: Exchange, mask: Mask): SentRequest {
  return {
    answer: file,
    status: answer.status,
    bytes: answer.body.length,
    ...(cut === undefined ? undefined : { cut: mask.text(cut) }),
    path: mask.text(sent.path),
    headers: mask.requestHeaders(sentHeaders),
    body: mask.json(sent.body),
    dropped: sent.dropped,
  };
}

/**
 * Runs a file operation.
 *
 * @throws {CommandError} instead of the error of the file system
 */
function explainFiles({ shown }: { shown: string }, work: () => void): void {
  try {
    work();
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException; // errors of the file system have both
    if (code === 'EEXIST' && path !== undefined) {
      throw new CommandError(
        `${basename(path)} already exists in ${shown}. --force overwrites it, --name sets another name.`,
      );
    }
    throw new CommandError(`Files cannot be written in ${shown}: ${readMessage(error)}`, { cause: error });
  }
}
