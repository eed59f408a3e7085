import { Argument, type Command, Option } from 'commander';
import { type CommandParts, findGroup } from '../commands/command-parts.ts';
import type { ResourceCommand, ResourceOption } from './definition.ts';
import { writeExamples } from './examples.ts';
import groupList from './groups.json' with { type: 'json' };

const groups: Record<string, string> = groupList;

/** Whether an argument names resources whose commands are not loaded yet. */
export const isResource = (word: string): boolean => Object.hasOwn(groups, word);

/** Adds the given commands, and the names of all groups. The commands load their routes when they run. */
export function addResourceCommands(program: Command, parts: CommandParts, commands: readonly ResourceCommand[]): void {
  const byName = Map.groupBy(commands, ({ name }) => name);
  const others = Object.keys(groups).filter((name) => !name.includes(' ') && !byName.has(name));
  for (const name of others) findGroup(program, [name]);
  for (const variants of byName.values()) addCommand(program, parts, variants as [ResourceCommand], commands);
  for (const [name, description] of Object.entries(groups)) {
    const isBuilt = commands.some((command) => command.name.startsWith(`${name} `));
    if (isBuilt)
      findGroup(program, name.split(' ')).addHelpText('after', writeExamples(name, listCalls(name, commands)));
    if (isBuilt || others.includes(name)) findGroup(program, name.split(' ')).description(description);
  }
}

/** Lists calls of the first commands of a group. */
const listCalls = (name: string, commands: readonly ResourceCommand[]): string[] =>
  commands
    .filter((command) => command.name.split(' ')[0] === name.split(' ')[0])
    .slice(0, 3)
    .map((command) => [command.name, ...command.params.map(({ label }) => `my-${label}`)].join(' '));

function addCommand(
  program: Command,
  parts: CommandParts,
  variants: [ResourceCommand, ...ResourceCommand[]],
  commands: readonly ResourceCommand[],
): void {
  const [{ name, summary, isDefault }] = variants;
  const command = parts.exampleCommand(program, name, summary, {
    isDefault: isDefault === true,
    calls: listCalls(name, commands),
  });
  const params = new Map(variants.flatMap((one) => one.params.map((param) => [param.name, param])));
  const options = new Map(variants.flatMap((one) => one.options.map((option) => [option.flags, option])));
  for (const { name: param, label, help, flags } of params.values()) {
    const isEverywhere = variants.every((one) => one.params.some((other) => other.name === param));
    if (flags === undefined) command.addArgument(new Argument(isEverywhere ? `<${label}>` : `[${label}]`, help));
    else if (isEverywhere) command.requiredOption(flags, help);
    else command.option(flags, help);
  }
  const isUpdate = variants.some(({ method }) => method === 'PATCH');
  for (const option of options.values()) addOption(command, option, isUpdate);
  const has = (test: (one: ResourceCommand) => unknown): boolean => variants.some((one) => test(one));
  if (has(({ body }) => body === 'form')) command.option('--name <name>', 'name of the stored file (that of the file)');
  if (has(({ response }) => response === 'content')) command.requiredOption('--output <file>', 'file to write');
  else command.option('--json', 'print the response as JSON');
  if (has(({ paging }) => paging)) command.option('--limit <number>', 'rows at most (all)');
  if (has(({ body, sends, isPart }) => body === 'object' && !sends && !isPart)) {
    command.option('--body <file>', 'fields as in the API, in YAML or JSON; - reads the standard input');
  } else if (has(({ body }) => body === 'any')) {
    command.requiredOption('--body <file>', 'body of the request, as JSON; - reads the standard input');
  }
  if (has(({ isScoped }) => isScoped)) {
    command.option('--workspace <name>', 'name, slug or id of the workspace (the default one)');
    command.option('--member <id>', 'call as a key of this member (of the organization)');
  }
  command.action(async (...given: unknown[]) => {
    const self = given.pop() as Command;
    const { runResource } = await import('./run-resource.ts');
    await runResource(parts, variants, {
      args: self.processedArgs as (string | string[])[],
      options: self.opts(),
    });
  });
}

function addOption(
  command: Command,
  { field, flags, help, kind, isRequired }: ResourceOption,
  isUpdate: boolean,
): void {
  const text = isRequired ? `${help} (required)` : help;
  if (kind === 'secret') return; // it is read from the standard input
  if (!flags.startsWith('-')) {
    command.addArgument(new Argument(flags, help));
    return;
  }
  command.addOption(new Option(flags, text));
  // A setting that is on can be turned off.
  const isSetting = kind === 'switch' && field !== '' && (isUpdate || flags === '--include-byok');
  if (isSetting) command.addOption(new Option(flags.replace('--', '--no-'), `not: ${help}`));
}
