import type { ContainerCommandResult, ContainerFileCitation, OpenContainer } from '../containers.ts';
import type { ToolCallContext } from '../server-tool.ts';
import { LiveOutput } from './live-output.ts';

/** Maximum commands of a call, and characters of each. */
export const MAX_COMMANDS = 100;
export const MAX_COMMAND_LENGTH = 16_384;

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 300_000;
/** A shorter time is over before a command begins. */
const MIN_TIMEOUT_MS = 100;
const DEFAULT_OUTPUT_LENGTH = 16_384;
const MAX_OUTPUT_LENGTH = 65_536;

/** Maximum files that an item names. */
const MAX_FILES = 10;

/** Maximum bytes of the outputs of a call as JSON. A result has at most 1 MiB. */
const MAX_OUTPUT_BYTES = 900_000;

/** Maximum bytes of an item: its arguments twice, and the outputs. */
export const MAX_ITEM_BYTES = 16 * 1024 * 1024;

/** Returns the time limit, within the bounds. Values below 1 mean the default. */
export const clampTimeout = (wanted = 0): number =>
  Math.max(MIN_TIMEOUT_MS, clamp(wanted, DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS));

/** Returns the characters of each output stream that are kept, at most the maximum. Values below 1 mean the default. */
export const clampOutput = (wanted = 0): number => clamp(wanted, DEFAULT_OUTPUT_LENGTH, MAX_OUTPUT_LENGTH);

const clamp = (wanted: number, usual: number, max: number): number => (wanted < 1 ? usual : Math.min(wanted, max));

export type CommandOutput = Pick<ContainerCommandResult, 'stdout' | 'stderr' | 'outcome'>;

/** The end of the commands of a call. */
export interface CommandsResult {
  readonly output: readonly CommandOutput[];
  readonly files: readonly ContainerFileCitation[];
}

export interface CommandsToRun {
  readonly commands: readonly string[];
  /** Time limit of each command, or of all together. */
  readonly timeoutMs: number;
  readonly isTotal?: boolean;
  readonly maxOutputLength: number;
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Runs commands one after another. A command that fails or times out does not stop the following ones, unless
 * `isTotal` is set and the time limit of all commands is reached.
 */
export async function runCommands(
  container: OpenContainer,
  context: ToolCallContext,
  { commands, timeoutMs, isTotal = false, maxOutputLength, environment }: CommandsToRun,
): Promise<CommandsResult> {
  const { signal } = context;
  const live = new LiveOutput(context);
  const output: CommandOutput[] = [];
  const files = new Map<string, ContainerFileCitation>();
  const startedAt = performance.now();
  let left = MAX_OUTPUT_BYTES;
  const noted = new Set<string>();
  for (const [index, command] of commands.entries()) {
    const leftMs = isTotal ? Math.ceil(timeoutMs - (performance.now() - startedAt)) : timeoutMs;
    if (leftMs < MIN_TIMEOUT_MS && index > 0) break;
    const result = await container.run({
      command,
      timeoutMs: leftMs,
      maxOutputLength,
      signal,
      ...live.listen(index),
      ...(environment && { environment }),
    });
    await live.flush();
    const stdout = boundText(result.stdout, left);
    const stderr = boundText(result.stderr, left - stdout.bytes);
    left -= stdout.bytes + stderr.bytes;
    const notes = result.notes.filter((note) => !noted.has(note));
    for (const note of notes) noted.add(note);
    output.push({ stdout: stdout.text, stderr: addNotes(stderr.text, notes), outcome: result.outcome });
    for (const file of result.files.toReversed()) {
      files.delete(file.file_id); // it moves to the end
      files.set(file.file_id, file);
    }
    if (isTotal && result.outcome.type === 'timeout') break;
  }
  return { output, files: [...files.values()].toReversed().slice(0, MAX_FILES) };
}

/** Adds a line for each note. */
const addNotes = (text: string, notes: readonly string[]): string =>
  notes.reduce((all, note) => `${all}${all === '' || all.endsWith('\n') ? '' : '\n'}[${note}]\n`, text);

/** Shortens a text that is longer than the room that is left, as JSON. */
function boundText(text: string, room: number): { text: string; bytes: number } {
  const bytes = Buffer.byteLength(JSON.stringify(text));
  if (bytes <= room) return { text, bytes };
  const kept = text.slice(0, Math.max(0, Math.floor(room / BYTES_PER_UNIT)));
  const cut = `${kept}\n[The output of this call is too long: ${text.length - kept.length} characters were dropped.]`;
  return { text: cut, bytes: Math.min(room, Buffer.byteLength(JSON.stringify(cut))) };
}

/** The most bytes of a UTF-16 unit in JSON: `\u0000`. */
const BYTES_PER_UNIT = 6;
