import { readFileSync, writeFileSync } from 'node:fs';
import type { Command, Option } from 'commander';
import { deriveCommands } from './derive-commands.ts';

/** The page that `describeCommands` writes. */
export const pageUrl = new URL('../../docs/reference/cli.md', import.meta.url);
/** The folder of the definitions that `writeDefinitions` writes. The command line reads them instead of the routes. */
export const definitionsUrl = new URL('../../src/cli/resources/', import.meta.url);
const notesUrl = new URL('notes.md', import.meta.url);

/** Options that the introduction explains for all commands. */
const common =
  /^(?:configuration file \(|data folder \(|print (?:JSON|a JSON list|the response as JSON)|rows at most|call as a key|name, slug or id of the workspace \(the|fields as in the API, in YAML)/;
const isCommon = ({ description }: Option): boolean => common.test(description);

/** Returns the definitions of the commands of resources, one in a line, and the descriptions of their groups. */
export function writeDefinitions(): Record<'commands.json' | 'groups.json', string> {
  const { groups, commands } = deriveCommands();
  const lines = commands.map((command) => JSON.stringify(command));
  return {
    'commands.json': `[\n${lines.join(',\n')}\n]\n`,
    'groups.json': `${JSON.stringify(groups, undefined, 2)}\n`,
  };
}

/** Returns the reference page of the command line. @throws {Error} if there is an explanation of an unknown command */
export async function describeCommands(): Promise<string> {
  const { createProgram } = await import('../../src/cli/program.ts'); // reads the definitions
  const { resourceCommands } = await import('../../src/cli/resources/find-command.ts');
  const notes = readNotes();
  const output = { write: () => true };
  const program = createProgram({ stdout: output, stderr: output, env: {}, cwd: '/' }, resourceCommands, () => {});
  const names = ['headgate', ...program.commands.flatMap((command) => listNames(command, 'headgate'))];
  const wrong = [...notes.keys()].find((name) => !names.includes(name));
  if (wrong !== undefined) throw new Error(`scripts/commands/notes.md has a section "${wrong}", which is no command.`);
  const intro = [
    '# Command line',
    '<!-- Generated from the commands and scripts/commands/notes.md by `npm run docs`. Edit those, not this page. -->',
    notes.get('headgate')!,
  ];
  const sections = program.commands.flatMap((command) => describeGroup(command, notes));
  return `${[...intro, ...sections].join('\n\n')}\n`;
}

/** Reads the explanations by the names of the commands. */
function readNotes(): Map<string, string> {
  const parts = readFileSync(notesUrl, 'utf8').split(/^## /m).slice(1);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n')).trim()]));
}

const listNames = (command: Command, parent: string): string[] => {
  const name = `${parent} ${command.name()}`;
  return [name, ...command.commands.flatMap((child) => listNames(child, name))];
};

/** Lists commands that have no other below them. */
const listLeaves = (command: Command, parent: string): [name: string, command: Command][] => {
  const name = `${parent} ${command.name()}`;
  return command.commands.length === 0
    ? [[name, command]]
    : command.commands.flatMap((child) => listLeaves(child, name));
};

/** Describes a command, or a group: its commands in a list, and those with options or explanations in sections. */
function describeGroup(command: Command, notes: Map<string, string>): string[] {
  const name = `headgate ${command.name()}`;
  const note = (of: string): string[] => [notes.get(of) ?? []].flat();
  if (command.commands.length === 0) {
    return [`## ${name}`, `${writeUsage(name, command)}.`, ...note(name), ...describeOptions(name, command, new Map())];
  }
  const known = new Map<string, string>();
  const leaves = listLeaves(command, 'headgate');
  const sections = leaves.flatMap(([path, leaf]) => {
    const text = [...note(path), ...describeOptions(path, leaf, known)];
    return text.length === 0 ? [] : [`### ${path}`, ...text];
  });
  const list = leaves.map(([path, leaf]) => `- ${writeUsage(path, leaf)}`).join('\n');
  return [`## ${name}`, `${capitalize(command.description())}.`, ...note(name), list, ...sections];
}

function writeUsage(name: string, command: Command): string {
  const { registeredArguments } = command;
  const words = registeredArguments.map((argument) => {
    const text = `${argument.name().toUpperCase()}${argument.variadic ? '...' : ''}`;
    return argument.required ? text : `[${text}]`;
  });
  const explained = registeredArguments.filter(
    (argument) => !/^(?:its |ids of |names|file$|$)/.test(argument.description),
  );
  const args = explained.map((argument) => `; ${argument.name().toUpperCase()}: ${argument.description}`);
  return [`\`${[name, ...words].join(' ')}\`: ${command.description()}`, ...args].join('');
}

/** Writes a table of options. Those that an earlier table of the group has are only named. */
function describeOptions(name: string, { options }: Command, known: Map<string, string>): string[] {
  const key = ({ flags, description }: Option): string => `${flags} ${description.replace(' (required)', '')}`;
  const isNegation = ({ long }: Option): boolean => options.some((other) => long === `--no-${other.long?.slice(2)}`);
  const own = options.filter((option) => !isCommon(option) && !isNegation(option));
  const fresh = own.filter((option) => !known.has(key(option)));
  const repeated = Map.groupBy(
    own.filter((option) => known.has(key(option))),
    (option) => known.get(key(option))!,
  );
  for (const option of fresh) known.set(key(option), name);
  const rows = fresh.map(({ flags, description }) => `| \`${writeFlags(flags)}\` | ${writeSentence(description)} |`);
  const table = rows.length > 0 ? [['| Option | Description |', '|---|---|', ...rows].join('\n')] : [];
  const lines = [...repeated].map(([other, same]) => {
    const isAll = [...known.values()].filter((one) => one === other).length === same.length;
    return isAll
      ? `The options of \`${other}\`.`
      : `As in \`${other}\`: ${same.map(({ long }) => `\`${long}\``).join(', ')}.`;
  });
  return [...table, ...lines];
}

/** `--key <key...>` → `--key KEY...`. */
const writeFlags = (flags: string): string => flags.replace(/<(.+)>/, (_, value: string) => value.toUpperCase());

const writeSentence = (text: string): string => `${capitalize(text).replace(/\.$/, '')}.`;

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

if (import.meta.main) {
  for (const [name, text] of Object.entries(writeDefinitions())) writeFileSync(new URL(name, definitionsUrl), text);
  writeFileSync(pageUrl, await describeCommands());
}
