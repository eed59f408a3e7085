import type { OutputItem } from '../../domain/items.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { type HostedReplay, missingResult, type ReplayedCall } from '../server-tool.ts';

/** Matches an id that the gateway created. */
const ownId = /^shc_[0-9A-Za-z]{24}$/;

/** Reads items of the tools `shell` and `local_shell`, of the gateway, of providers and of clients. */
export const shellReplay: HostedReplay = {
  types: new Map([
    ['shell_call', 'shell_call_output'],
    ['local_shell_call', 'local_shell_call_output'],
  ]),
  fields: new Set([
    ...['action', 'action.type', 'action.commands', 'action.command', 'action.timeout_ms', 'action.max_output_length'],
    ...['arguments', 'output', 'error', 'container_id'],
  ]),
  isOwn: ({ id }) => typeof id === 'string' && ownId.test(id),
  read(call, output) {
    const input = readArguments(call);
    return input && { arguments: input, result: output ? readOutput(output) : missingResult };
  },
};

function readArguments({ type, arguments: written, action }: OutputItem): ReplayedCall['arguments'] | undefined {
  const input = typeof written === 'string' ? parseObject(written) : undefined;
  if (input) return input;
  const { commands, command, timeout_ms: timeoutMs, max_output_length: length } = (action ?? {}) as Open;
  const limits = {
    ...(typeof timeoutMs === 'number' && { timeout_ms: timeoutMs }),
    ...(typeof length === 'number' && { max_output_length: length }),
  };
  if (type === 'shell_call') return Array.isArray(commands) ? { commands, ...limits } : undefined;
  return Array.isArray(command) ? { commands: [joinWords(command.map(String))], ...limits } : undefined;
}

interface Open {
  commands?: unknown;
  command?: unknown;
  timeout_ms?: unknown;
  max_output_length?: unknown;
}

function readOutput({ output, error }: OutputItem): ReplayedCall['result'] {
  if (typeof error !== 'string') return { output };
  return Array.isArray(output) && output.length > 0 ? { error, output } : { error };
}

/** Writes the words of a command as a line for a shell. */
export function joinWords(words: readonly string[]): string {
  const [shell = '', option = '', line] = words;
  if (words.length === 3 && /(?:^|\/)(?:ba|z|da)?sh$/.test(shell) && /^-l?c$/.test(option)) return line!;
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}
