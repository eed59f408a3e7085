import { closeSync, createReadStream, openSync, readFileSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { Option } from 'commander';
import { isObject } from '../../schema/by-kind.ts';
import { readSecretValue } from '../read-secret-value.ts';
import { CommandError, readMessage, type Terminal } from '../terminal.ts';
import type { ResourceCommand, ResourceOption, ResourceParam } from './definition.ts';
import type { RouteCallInput } from './open-resources.ts';
import { expandShorthands, type Shorthands } from './shorthands.ts';

/** The arguments of a user, and the options by their names in camel case. */
export interface Given {
  args: readonly (string | readonly string[] | undefined)[];
  options: Readonly<Record<string, unknown>>;
}

/** A request before the names in it are resolved. */
export interface WantedRequest {
  command: ResourceCommand;
  params: Record<string, string>;
  query: Record<string, string>;
  body: Record<string, unknown> | undefined;
  raw?: RouteCallInput['raw'];
}

const attributeOf = (flags: string): string => new Option(flags).attributeName();

/**
 * Chooses the route of a command by the given parameters. A command of several parts calls each of them whose options are given.
 *
 * @throws {CommandError}
 */
export function chooseVariants(variants: readonly ResourceCommand[], given: Given): ResourceCommand[] {
  const { params } = variants.reduce((most, one) => (one.params.length > most.params.length ? one : most));
  const isGiven = (param: ResourceParam): boolean => readParam(param, params, given) !== undefined;
  if (!variants[0]!.isPart) {
    const possible = variants.filter((one) => one.params.every(isGiven));
    return possible.sort((a, b) => b.params.length - a.params.length).slice(0, 1);
  }
  const has = ({ options }: ResourceCommand): boolean =>
    options.some(({ flags }) => given.options[attributeOf(flags)] !== undefined);
  const parts = variants.filter((one) => one.options.length === 0 || has(one));
  if (parts.length > 0) return parts.sort((a, b) => b.options.length - a.options.length);
  throw new CommandError(`Give ${variants.map(({ options }) => options[0]!.flags.split(' ')[0]).join(', ')}, or both.`);
}

function readParam(param: ResourceParam, all: readonly ResourceParam[], { args, options }: Given): string | undefined {
  if (param.flags !== undefined) return options[attributeOf(param.flags)] as string | undefined;
  const at = all.filter(({ flags }) => flags === undefined).findIndex(({ name }) => name === param.name);
  return args[at] as string | undefined; // parameters are single words
}

/** Reads the request of a command: arguments, options, files and the standard input. @throws {CommandError} */
export async function readCommandRequest(
  terminal: Terminal,
  command: ResourceCommand,
  given: Given,
): Promise<WantedRequest> {
  const { params, options, sends } = command;
  const read = (name: string) => readFields(terminal, name, command.body === 'any');
  const ownParams = params.map((param) => [param.name, readParam(param, params, given)!]); // commander checks them
  const wanted: WantedRequest = { command, params: Object.fromEntries(ownParams), query: {}, body: undefined };
  const shorthands: Shorthands = {};
  const fields: Record<string, unknown> = {};
  let upload: string | undefined;
  let place = params.filter(({ flags }) => flags === undefined).length;
  for (const option of options) {
    if (option.kind === 'secret') {
      if (!terminal.openInput) throw new CommandError('There is no standard input to read the value from.');
      fields[option.field] = await readSecretValue(terminal.openInput(), terminal.stderr);
      continue;
    }
    const isArgument = !option.flags.startsWith('-');
    const raw = isArgument ? given.args[place++] : given.options[attributeOf(option.flags)];
    if (option.field === '') shorthands[attributeOf(option.flags)] = raw as Shorthands[string];
    else if (option.kind === 'file') upload = String(raw);
    else if (raw !== undefined) {
      const value = readValue(option, raw);
      if (option.place === 'query') wanted.query[option.field] = String(value);
      else fields[option.field] = value;
    }
  }
  if (upload !== undefined) {
    const name = given.options['name'] as string | undefined;
    return { ...wanted, raw: createForm(resolve(terminal.cwd, upload), name ?? basename(upload), fields) };
  }
  const file = given.options['body'] as string | undefined;
  const expanded = await expandShorthands(shorthands, read);
  if (command.body) wanted.body = { ...(file !== undefined && (await read(file))), ...expanded, ...fields, ...sends };
  return wanted;
}

/** @throws {CommandError} that lists the options that are missing */
export function requireFields({ command, query, body }: WantedRequest): void {
  const missing = command.options.filter(
    ({ field, isRequired, flags, place }) =>
      isRequired && flags.startsWith('-') && (place === 'query' ? query : (body ?? {}))[field] === undefined,
  );
  if (missing.length > 0) {
    const width = Math.max(...missing.map(({ flags }) => flags.length));
    const lines = missing.map(({ flags, help }) => `  ${flags.padEnd(width)}  ${help}`);
    const title = missing.length === 1 ? 'A required option is missing:' : 'Required options are missing:';
    throw new CommandError([title, ...lines, `"headgate ${command.name} --help" lists the options.`].join('\n'));
  }
  if (command.method === 'PATCH' && Object.keys(body ?? {}).length === 0) {
    throw new CommandError(`Nothing would change. See "headgate ${command.name} --help".`);
  }
}

/** Returns the value of an option as the API takes it. */
function readValue({ flags, kind, place, isNullable, isLong }: ResourceOption, raw: unknown): unknown {
  const name = flags.split(' ')[0];
  const words = [raw].flat() as string[];
  if (isNullable && words.length === 1 && (words[0] === 'none' || (kind === 'words' && words[0] === 'never')))
    return null;
  const [text] = words as [string];
  if (kind === 'number') {
    if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
    throw new CommandError(`${name} ${text}: give a number${isNullable ? ', or none' : ''}.`);
  }
  if (kind === 'json') {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new CommandError(`${name}: give JSON${isNullable ? ', or none' : ''}. ${readMessage(error)}`, {
        cause: error,
      });
    }
  }
  if (kind === 'words' && place === 'body' && (text === 'true' || text === 'false')) return text === 'true';
  return isLong && text === '-' ? readFileSync(0, 'utf8') : raw;
}

/** Reads a file with fields, in YAML or JSON. @param isBody whether it is the body of a request for a model, in JSON */
async function readFields({ cwd }: Terminal, name: string, isBody: boolean): Promise<Record<string, unknown>> {
  const { readTree } = await import('../../config/read-file.ts');
  const { readJson } = await import('../../http/read-json.ts');
  let fields: unknown;
  try {
    const bytes = readFileSync(name === '-' ? 0 : resolve(cwd, name));
    const file = isBody ? undefined : readTree(bytes.toString('utf8'));
    if (file && file.problems.length > 0) {
      throw new CommandError(`line ${file.problems[0]!.line}: ${file.problems[0]!.message}.`);
    }
    fields = file ? file.tree : readJson(bytes);
  } catch (error) {
    throw new CommandError(`${name}: ${readMessage(error)}`, { cause: error });
  }
  if (isObject(fields)) return fields;
  throw new CommandError(`${name}: the file must have one object.`);
}

/** Writes a form with fields and one file, which is read when the form is. @throws {CommandError} */
function createForm(path: string, name: string, fields: Record<string, unknown>): NonNullable<RouteCallInput['raw']> {
  try {
    closeSync(openSync(path, 'r'));
  } catch (error) {
    throw new CommandError(readMessage(error), { cause: error });
  }
  if (!statSync(path).isFile()) throw new CommandError(`${path} is not a file.`);
  const boundary = `headgate-${crypto.randomUUID()}`;
  const start = (disposition: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n`;
  async function* write(): AsyncGenerator<Buffer | string> {
    for (const [field, value] of Object.entries(fields)) yield `${start(`name="${field}"`)}${value}\r\n`;
    yield start(`name="file"; filename*=utf-8''${encodeURIComponent(name)}`);
    yield* createReadStream(path) as AsyncIterable<Buffer>;
    yield `\r\n--${boundary}--\r\n`;
  }
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  return Object.assign(Readable.from(write(), { objectMode: false }), { headers, complete: true });
}
