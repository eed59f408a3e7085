import { type Command, CommanderError } from 'commander';
import { ConfigError } from '../config/config-error.ts';
import { findNearestName } from '../domain/nearest-name.ts';
import { addDiagnosisCommands } from './commands/add-diagnosis-commands.ts';
import { addKeyCommands } from './commands/add-key-commands.ts';
import { addModelCommands } from './commands/add-model-commands.ts';
import { addOperatorCommands } from './commands/add-operator-commands.ts';
import { addRequestCommands } from './commands/add-request-commands.ts';
import { addSpendingCommands } from './commands/add-spending-commands.ts';
import { CliCommand } from './commands/cli-command.ts';
import { createCommandParts, type SourceOptions, withSources } from './commands/command-parts.ts';
import { addResourceCommands, isResource } from './resources/add-resource-commands.ts';
import type { ResourceCommand } from './resources/definition.ts';
import type { InitOptions } from './init.ts';
import { CommandError, readMessage, sanitizeOutput, type Terminal } from './terminal.ts';
import { version, versionFlags } from './version.ts';

/**
 * Runs one command to its end.
 *
 * @param argv without the name of the program
 * @returns the exit code
 */
export async function runCli(argv: readonly string[], { stdout, stderr, ...rest }: Terminal): Promise<number> {
  const terminal = { ...rest, stdout: sanitizeOutput(stdout), stderr: sanitizeOutput(stderr) };
  let exitCode = 0;
  const named = argv.filter(isResource);
  const all = named.length === 0 ? [] : (await import('./resources/find-command.ts')).resourceCommands;
  const commands = all.filter(({ name }) => named.includes(name.split(' ')[0]!));
  const program = createProgram(terminal, commands, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode; // commander has printed it
    terminal.stderr.write(`headgate: ${explain(error)}\n`);
    return 1;
  }
}

function explain(error: unknown): string {
  if (error instanceof ConfigError) {
    return `the configuration cannot be used.\n${error.problems.map((problem) => `  ${problem}`).join('\n')}`;
  }
  return error instanceof CommandError ? error.message : readMessage(error);
}

/**
 * Creates the commands, with their options and their help.
 *
 * @param commands those of resources; of the others only the groups are created, because most of them are not called
 */
export function createProgram(
  terminal: Terminal,
  commands: readonly ResourceCommand[],
  exit: (code: number) => void,
): Command {
  const { env, stdout, stderr } = terminal;
  const isColored = Boolean(stdout.isTTY) && !env.NO_COLOR;
  const program: Command = new CliCommand('headgate')
    .description(
      'A gateway in front of every model provider: one address for the Responses, chat completions, Messages and Gemini formats.',
    )
    .version(version, versionFlags.join(', '))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHasColors: () => isColored,
      getErrHasColors: () => isColored,
    })
    .addHelpText('after', mainExamples);
  const parts = createCommandParts(terminal, exit);
  const { createLoader, load } = parts;

  withSources(program.command('start', { isDefault: true }))
    .description('serve; "headgate" alone does the same, or shows the status of a running gateway')
    .option('--port <number>', 'port to listen on; 0: any free one (8787)')
    .option('--host <address>', 'address to listen on (127.0.0.1)')
    .option('--workers <number>', 'processes that serve; auto: one for each core (1)')
    .allowExcessArguments()
    .addHelpText('after', startExamples)
    .action(async (options: SourceOptions, self: Command) => {
      if (self.args[0] !== undefined) throw new CommandError(refuse(self.args[0], program));
      const isBare = self.parent?.args[0] !== 'start';
      if (isBare) {
        const { showStatus } = await import('./show-status.ts');
        if (await showStatus(terminal, await load(options))) return;
      }
      const { start: run } = await import('./start.ts');
      exit(await run(terminal, await createLoader(options)));
    });

  program
    .command('init')
    .description('write a commented headgate.yaml with the providers and model servers it finds')
    .option('--force', 'overwrite an existing file')
    .option('--output <file>', 'file to write (headgate.yaml)')
    .option('--from <program>', 'import the configuration of another program: litellm')
    .option('--keys <file>', 'with --from: its keys, as JSON')
    .argument('[file]', 'with --from: the configuration to import')
    .allowExcessArguments(false)
    .addHelpText('after', initExamples)
    .action(async (file: string | undefined, options: InitOptions) => {
      const { importConfig, init } = await import('./init.ts');
      const isImport = options.from !== undefined || file !== undefined || options.keys !== undefined;
      await (isImport ? importConfig(terminal, file, options) : init(terminal, options));
    });

  addDiagnosisCommands(program, parts);

  program
    .command('openapi')
    .description('print the OpenAPI 3.1 description of all routes')
    .allowExcessArguments(false)
    .addHelpText('after', openApiExamples)
    .action(async () => {
      const { createDocument } = await import('../openapi/create-document.ts');
      const { definedRoutes } = await import('../api/routes.ts');
      stdout.write(`${JSON.stringify(createDocument(version, definedRoutes), null, 2)}\n`);
    });

  addResourceCommands(program, parts, commands);
  addKeyCommands(program, parts);
  addOperatorCommands(program, parts);
  addSpendingCommands(program, parts);
  addRequestCommands(program, parts);
  addModelCommands(program, parts);
  return program;
}

function refuse(name: string, program: Command): string {
  const nearest = findNearestName(name, [...program.commands.map((command) => command.name()), 'help']);
  const hint = nearest === undefined ? '"headgate help" lists the commands.' : `Did you mean "headgate ${nearest}"?`;
  return `There is no command "${name}". ${hint}`;
}

const mainExamples = `
Examples:
  $ npx headgate                      serve with the defaults; the first start prints two keys
  $ npx headgate init                 write headgate.yaml
  $ npx headgate start --port 9000
  $ npx headgate doctor               what is wrong, and how to fix it
  $ npx headgate keys create --name app`;

const startExamples = `
Examples:
  $ headgate start --config /etc/headgate.yaml --data /var/lib/headgate
  $ HEADGATE_SERVER_PORT=9000 headgate start
  $ headgate start --workers auto

SIGHUP, or saving the file, reloads it. SIGTERM lets open requests finish; a second one does not.`;

const initExamples = `
Examples:
  $ OPENAI_API_KEY=... headgate init
  $ headgate init --output staging.yaml
  $ headgate init --from litellm config.yaml`;

const openApiExamples = `
Examples:
  $ headgate openapi > openapi.json`;
