import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { findRequestFile, type RecordedRequest } from '../exchanges/file-names.ts';
import { isRecordedRequest, readRecordedRequest } from '../exchanges/folder.ts';
import { cutHeader, readRecording } from '../exchanges/recording.ts';
import { type Replayed, replayRecording } from '../exchanges/replay.ts';
import { writeErrorEnvelope } from '../http/error-envelope.ts';
import { readJson } from '../http/read-json.ts';
import { textWires } from '../providers/index.ts';
import { readRequest } from '../requests/responses/request.ts';
import { CommandError, readMessage, type Terminal } from './terminal.ts';

export interface ReplayCommandOptions {
  /** Absent: the wire of the recorded request. */
  wire?: string;
  /** File of the request; absent: the one beside the recording. */
  request?: string;
  /** Prints the response instead of the events. */
  json?: boolean;
}

/**
 * Reads a recorded response as the gateway does and prints a line for each event that a client would receive.
 *
 * @returns the exit code: 1 if the client would not get a complete response
 * @throws {CommandError} if the file is not a recording, or its wire is unknown
 */
export async function replayFile(terminal: Terminal, file: string, options: ReplayCommandOptions): Promise<number> {
  const { stderr, cwd } = terminal;
  const recording = explain(file, () => readRecording(resolve(cwd, file)));
  const asked = readQuestion(resolve(cwd, file), cwd, options);
  const wire = findWire(options.wire ?? asked?.wire);
  // The recording is the only provider, whatever the request preferred.
  const body = { model: 'recorded', ...(asked?.request ?? defaultBody), provider: undefined };
  const request = explain('The request', () => readRequest(structuredClone(body), {}).request);
  const dialect = asked?.dialect ?? {};
  explain('The dialect', () => wire.checkDialect?.(dialect));

  const replayed = await replayRecording(recording, {
    wire,
    dialect,
    request,
    upstreamModel: asked?.upstream_model ?? 'recorded',
  });
  print(terminal, replayed, options.json ?? false);
  tell(stderr, 'Omitted from the request', replayed.dropped);
  tell(stderr, 'Omitted from the response', replayed.droppedUpstream);
  const failure = readFailure(replayed) ?? recording.headers[cutHeader];
  if (failure === undefined) return 0;
  stderr.write(`headgate: ${failure}\n`);
  return 1;
}

/** The request if there is no file. It suffices for every response except those that call custom tools. */
const defaultBody = { input: 'Hello' };

/** Reads the request: from the named file, or the file beside the recording. */
function readQuestion(
  recording: string,
  cwd: string,
  options: ReplayCommandOptions,
): Partial<RecordedRequest> | undefined {
  const { request } = options;
  if (request === undefined)
    return explain(findRequestFile(recording), () => readRecordedRequest(findRequestFile(recording)));
  const value = explain(`--request ${request}`, () => readJson(readFileSync(resolve(cwd, request))));
  // Request validation follows.
  return isRecordedRequest(value) ? value : { request: value as RecordedRequest['request'] };
}

function findWire(id: string | undefined) {
  const known = `--wire with one of ${[...textWires.keys()].join(', ')}`;
  if (id === undefined) throw new CommandError(`The wire of the recording is unknown: give ${known}.`);
  const wire = textWires.get(id);
  if (!wire) throw new CommandError(`There is no wire "${id}": give ${known}.`);
  // The recording supplies the response, also for a wire inside this process.
  const { image: _image, embedding: _embedding, rerank: _rerank, ...rest } = wire;
  const { send: _send, ...text } = wire.text;
  return { ...rest, text };
}

function print({ stdout }: Terminal, { events, response, error }: Replayed, json: boolean): void {
  if (error) stdout.write(`${JSON.stringify(writeErrorEnvelope(error).body, undefined, json ? 2 : undefined)}\n`);
  else if (json) stdout.write(`${JSON.stringify(response, undefined, 2)}\n`);
  else for (const event of events) stdout.write(`data: ${JSON.stringify(event)}\n`);
}

function tell(stderr: Terminal['stderr'], what: string, fields: readonly string[]): void {
  if (fields.length > 0) stderr.write(`${what}: ${fields.join(', ')}.\n`);
}

function readFailure({ error, response }: Replayed): string | undefined {
  if (error) return `The client would get ${error.status}: ${error.message}`;
  if (response?.status !== 'failed') return undefined;
  const { message } = response.error as { message: string }; // every failed response has one
  return `The response is interrupted: ${message}`;
}

function explain<Result>(what: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new CommandError(`${what}: ${readMessage(error)}`, { cause: error });
  }
}
