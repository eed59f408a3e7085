import { Command, CommanderError, Option } from 'commander';
import { ConfigError, type ConfigSources, type LoadedConfig, loadConfig } from '../config/load.ts';
import type { Path } from '../config/path.ts';
import { findNearestName } from '../domain/nearest-name.ts';
import { addInternCommands } from './add-intern-commands.ts';
import { addVaultCommands } from './add-vault-commands.ts';
import type { UpdateKeyOptions } from './change-keys.ts';
import {
  budgetsExamples,
  containersExamples,
  creditsExamples,
  doctorExamples,
  explainExamples,
  filesExamples,
  guardrailsExamples,
  initExamples,
  keysExamples,
  ledgerExamples,
  mainExamples,
  membersExamples,
  modelsExamples,
  openApiExamples,
  presetsExamples,
  recordExamples,
  requestsExamples,
  startExamples,
  workspacesExamples,
} from './examples.ts';
import type { ExplainOptions } from './explain.ts';
import type { AssigneeOptions, RuleOptions, TestOptions } from './guardrails.ts';
import type { CreateKeyOptions } from './keys.ts';
import type { RecomputeOptions } from './ledger.ts';
import type { InitOptions } from './init.ts';
import { loadNeededConfig } from './load-needed-config.ts';
import type { ListModelsOptions } from './models/list.ts';
import { type RateOptions, withRateOptions } from './rate-options.ts';
import type { RecordOptions } from './record.ts';
import type { ReplayCommandOptions } from './replay.ts';
import type { ListRequestsOptions, ShowRequestOptions } from './requests.ts';
import { CommandError, readMessage, sanitizeOutput, type Terminal } from './terminal.ts';
import { version } from './version.ts';
import type { ContainerOptions } from './containers.ts';
import type { FilePlace } from './files.ts';
import type { PresetOptions, PresetPlace } from './presets.ts';
import type { BudgetOptions, WorkspaceOptions } from './workspaces.ts';

interface SourceOptions {
  config?: string;
  data?: string;
  port?: string;
  host?: string;
  workers?: string;
}

/**
 * Runs one command to its end.
 *
 * @param argv without the name of the program
 * @returns the exit code
 */
export async function runCli(argv: readonly string[], { stdout, stderr, ...rest }: Terminal): Promise<number> {
  const terminal = { ...rest, stdout: sanitizeOutput(stdout), stderr: sanitizeOutput(stderr) };
  let exitCode = 0;
  const program = createProgram(terminal, (code) => {
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

/** The commands, their options and their help. A test compares their names with `docs/reference/cli.md`. */
export function createProgram(terminal: Terminal, exit: (code: number) => void): Command {
  const { env, cwd, stdout, stderr } = terminal;
  const readSources = ({ config: file, data, port, host, workers }: SourceOptions): ConfigSources => ({
    env,
    cwd,
    flags: { data, port, host, workers },
    ...(file === undefined ? undefined : { file }),
  });
  const load = (options: SourceOptions): LoadedConfig => loadConfig(readSources(options));
  /** For commands that need only the store. */
  const loadForStore = (options: SourceOptions, ...more: Path[]): LoadedConfig =>
    loadNeededConfig(terminal, readSources(options), [['storage', 'url'], ...more]);
  const readConfig = (options: SourceOptions) => loadForStore(options).config;
  const isColored = Boolean(stdout.isTTY) && !env.NO_COLOR;

  const program = new Command('headgate')
    .description('A gateway in front of every model provider: one POST /api/v1/responses.')
    .version(version, '-v, --version')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHasColors: () => isColored,
      getErrHasColors: () => isColored,
    })
    .addHelpText('after', mainExamples);
  /** New commands inherit the settings above. */
  const command = (parent: Command, name: string, description: string, examples: string) =>
    withSources(parent.command(name).description(description)).addHelpText('after', examples);

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
        if (await showStatus(terminal, load(options))) return;
      }
      const { start: run } = await import('./start.ts');
      exit(await run(terminal, () => load(options)));
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

  command(program, 'doctor', 'check configuration, data folder, storage, port and providers', doctorExamples)
    .option('--probe', 'request the models of each provider, with each key, and search with each engine')
    .option('--port <number>', 'port to check (that of the configuration)')
    .option('--host <address>', 'address to check (that of the configuration)')
    .action(async ({ probe, ...options }: SourceOptions & { probe?: boolean }) => {
      const { doctor } = await import('./doctor.ts');
      exit(await doctor(terminal, () => load(options), { probe }));
    });

  command(
    program,
    'explain',
    'print which endpoints a request would use, and why others are excluded; sends nothing',
    explainExamples,
  )
    .requiredOption('--body <file>', 'body of the request, as JSON; - for standard input')
    .addOption(
      new Option('--path <path>', 'path of the request, after /api/v1/').choices([
        'responses',
        'chat/completions',
        'completions',
        'messages',
        'embeddings',
        'rerank',
      ]),
    )
    .option('--workspace <name>', 'workspace of the caller')
    .option('--key <key>', 'key of the caller, by hash or name, with its workspace and guardrails')
    .option('--json', 'as JSON')
    .action(async (options: SourceOptions & ExplainOptions) => {
      const { explain: run } = await import('./explain.ts');
      exit(await run(terminal, load(options), options));
    });

  command(
    program,
    'record',
    'request a provider and keep its response, without secrets, for a bug report',
    recordExamples,
  )
    .requiredOption('--provider <id>', 'provider of the configuration')
    .requiredOption('--body <file>', 'body of a POST /responses, as JSON')
    .requiredOption('--out <folder>', 'folder for the files; created if it does not exist')
    .option('--model <name>', 'model: its slug, or its name at the provider (model of the body)')
    .option('--name <name>', 'name of the files (that of the body)')
    .option('--stream', 'request a stream only; without this and --whole, both')
    .option('--whole', 'request a buffered response only')
    .option('--force', 'overwrite an earlier recording of that name')
    .action(async (options: SourceOptions & RecordOptions) => {
      const { recordExchange } = await import('./record.ts');
      exit(await recordExchange(terminal, load(options).config, options));
    });

  program
    .command('replay')
    .description('show what a client would see of a recorded response: a line for each event')
    .argument('<file>', 'recording')
    .option('--wire <name>', 'wire that reads it (as the request beside it says)')
    .option('--request <file>', 'request of the recording (the .request.json beside it)')
    .option('--json', 'print the response, or the error, in place of the events')
    .allowExcessArguments(false)
    .addHelpText('after', recordExamples)
    .action(async (file: string, options: ReplayCommandOptions) => {
      const { replayFile } = await import('./replay.ts');
      exit(await replayFile(terminal, file, options));
    });

  program
    .command('openapi')
    .description('print the OpenAPI 3.1 description of all routes')
    .allowExcessArguments(false)
    .addHelpText('after', openApiExamples)
    .action(async () => {
      const { createDocument } = await import('../openapi/create-document.ts');
      stdout.write(`${JSON.stringify(createDocument(version), null, 2)}\n`);
    });

  const keys = program.command('keys').description('create, list, change and delete keys; also while the gateway runs');
  keys.addHelpText('after', keysExamples);
  withRateOptions(command(keys, 'create', 'create a key; its text is printed once, alone on stdout', keysExamples))
    .option('--name <name>', 'name for people')
    .option('--workspace <name>', 'name or id of its workspace')
    .option('--member <id>', 'member that owns it; created if unknown (the organization owns it)')
    .option('--organization', 'the organization owns it: the default')
    .option('--management', 'administers, and cannot request models')
    .option('--expires <when>', 'date, time, or 90d, 12h, 30m from now')
    .option('--external <user>', 'user of your application that it is for')
    .option(...limitOption)
    .option(...limitResetOption)
    .option(...includeByokOption)
    .action(async (options: SourceOptions & CreateKeyOptions) => {
      const { addKey } = await import('./keys.ts');
      await addKey(terminal, readConfig(options), options);
    });
  command(keys, 'list', 'list all keys, the newest first', keysExamples)
    .option('--json', 'as a JSON list')
    .action(async (options: SourceOptions & { json?: boolean }) => {
      const { printKeys } = await import('./keys.ts');
      await printKeys(terminal, readConfig(options), options);
    });
  command(keys, 'show', 'print a key with its settings and its spending', keysExamples)
    .argument(...keyArgument)
    .action(async (wanted: string, options: SourceOptions) => {
      const { showKey } = await import('./change-keys.ts');
      await showKey(terminal, readConfig(options), wanted);
    });
  withRateOptions(command(keys, 'update', 'change the settings of a key', keysExamples))
    .argument(...keyArgument)
    .option('--name <name>', 'name for people')
    .option('--enable', 'enable it again')
    .option('--disable', 'reject it from now on')
    .option(...limitOption)
    .option(...limitResetOption)
    .option(...includeByokOption)
    .option('--no-include-byok', 'they do not count')
    .action(async (wanted: string, options: SourceOptions & UpdateKeyOptions) => {
      const { changeKey } = await import('./change-keys.ts');
      await changeKey(terminal, readConfig(options), wanted, options);
    });
  command(keys, 'rotate', 'replace a key with a new one that has the same settings', keysExamples)
    .argument(...keyArgument)
    .option('--grace <time>', 'how long the old one stays valid: 30m, 12h, up to 1d (0)')
    .action(async (wanted: string, options: SourceOptions & { grace?: string }) => {
      const { replaceKey } = await import('./change-keys.ts');
      await replaceKey(terminal, readConfig(options), wanted, options);
    });
  command(keys, 'disable', 'reject a key from now on', keysExamples)
    .argument(...keyArgument)
    .action(async (wanted: string, options: SourceOptions) => {
      const { disableKey } = await import('./change-keys.ts');
      await disableKey(terminal, readConfig(options), wanted);
    });
  command(keys, 'delete', 'remove a key; its ledger entries stay', keysExamples)
    .argument(...keyArgument)
    .action(async (wanted: string, options: SourceOptions) => {
      const { removeKey } = await import('./change-keys.ts');
      await removeKey(terminal, readConfig(options), wanted);
    });

  addWorkspaces(program);
  addMembers(program);
  addGuardrails(program);
  addPresets(program);
  addVaultCommands(program, {
    terminal,
    load: (options: SourceOptions) => loadForStore(options, ['secrets']),
    command,
  });
  addInternCommands(program, {
    terminal,
    load: (options: SourceOptions) => loadForStore(options, ['secrets'], ['interns']),
    command,
  });
  addFiles(program);
  addContainers(program);

  const ledger = program
    .command('ledger')
    .description('price entries again after a price was corrected; show an entry');
  ledger.addHelpText('after', ledgerExamples);
  command(ledger, 'recompute', 'price entries with current prices, and print the difference', ledgerExamples)
    .option('--since <date>', 'first day (UTC), or a time')
    .option('--until <date>', 'last day (UTC), or a time')
    .option('--model <slug>', 'only entries of this model')
    .option('--provider <id>', 'only entries of this provider')
    .option('--apply', 'record the difference as corrections; without it nothing changes')
    .action(async (options: SourceOptions & RecomputeOptions) => {
      const { recompute } = await import('./ledger.ts');
      await recompute(terminal, load(options), options);
    });
  command(ledger, 'show', 'print an entry with its corrections', ledgerExamples)
    .argument('<id>', 'generation id: gen-…')
    .action(async (id: string, options: SourceOptions) => {
      const { showEntry } = await import('./ledger.ts');
      await showEntry(terminal, readConfig(options), id);
    });

  const credits = program
    .command('credits')
    .description('the total that the organization may spend; off until some are added');
  credits.addHelpText('after', creditsExamples);
  command(credits, 'add', 'add credits; the first ones turn them on', creditsExamples)
    .argument('<usd>', 'sum, like 25 or 0.50; "-- -5" takes five back')
    .option('--note <text>', 'kept in the audit log')
    .action(async (sum: string, options: SourceOptions & { note?: string }) => {
      const { changeCredits } = await import('./credits.ts');
      await changeCredits(terminal, readConfig(options), sum, options);
    });
  command(credits, 'off', 'turn credits off: they no longer limit spending', creditsExamples).action(
    async (options: SourceOptions) => {
      const { removeCredits } = await import('./credits.ts');
      await removeCredits(terminal, readConfig(options));
    },
  );
  command(credits, 'show', 'print what was added, what was spent and what is left', creditsExamples)
    .option('--json', 'as JSON')
    .action(async (options: SourceOptions & { json?: boolean }) => {
      const { showCredits } = await import('./credits.ts');
      await showCredits(terminal, readConfig(options), options);
    });

  command(program, 'budgets', 'list all spending limits, their usage and what is left', budgetsExamples)
    .option('--json', 'as a JSON list')
    .action(async (options: SourceOptions & { json?: boolean }) => {
      const { printBudgets } = await import('./budgets.ts');
      await printBudgets(terminal, loadForStore(options, ['budgets']).config, options);
    });

  const requests = program.command('requests').description('list the last requests, follow them, show one in full');
  requests.addHelpText('after', requestsExamples);
  withSources(requests.command('list', { isDefault: true }))
    .description('list the last requests, the newest last; what "headgate requests" alone does')
    .option('--limit <number>', 'how many, up to 1000 (20)')
    .option('--follow', 'print the next ones, too, as they end')
    .option('--failed', 'only those without a complete response')
    .option('--model <slug>', 'that was requested, or that responded')
    .option('--provider <id>', 'id or display name')
    .option('--key <key>', 'by hash, the first 4 or more digits of it, or name')
    .option('--member <id>', 'owner of the key')
    .option('--workspace <name>', 'id, slug or name')
    .option('--session <id>', 'session_id of the requests')
    .option('--since <date>', 'first day (UTC), or a time')
    .option('--until <date>', 'last day (UTC), or a time')
    .option('--json', 'as a JSON list; with --follow a line of JSON for each')
    .addHelpText('after', requestsExamples)
    .action(async (options: SourceOptions & ListRequestsOptions) => {
      const { printRequests } = await import('./requests.ts');
      await printRequests(terminal, readConfig(options), options);
    });
  command(requests, 'show', 'print a request in full', requestsExamples)
    .argument('[id]', 'generation id, or the end of it that the list shows (the last request)')
    .option('--content', 'also input and output, if its workspace keeps them')
    .option('--json', 'as JSON')
    .action(async (id: string | undefined, options: SourceOptions & ShowRequestOptions) => {
      const { showRequest } = await import('./requests.ts');
      await showRequest(terminal, readConfig(options), id, options);
    });

  const models = program.command('models').description('list models; fetch a newer list of them');
  models.addHelpText('after', modelsExamples);
  withSources(models.command('list', { isDefault: true }))
    .description('list the models that can be requested; what "headgate models" alone does')
    .argument('[query...]', 'words in the slug, the name or the providers; all must match')
    .option('--all', 'also those that no configured provider has')
    .option('--json', 'as a JSON list')
    .addHelpText('after', modelsExamples)
    .action(async (query: string[], options: SourceOptions & ListModelsOptions) => {
      const { listModels } = await import('./models/list.ts');
      await listModels(terminal, load(options), query.length === 0 ? undefined : query.join(' '), options);
    });
  command(models, 'refresh', 'fetch a public list of models and prices into the data folder', modelsExamples)
    .option('--from <url>', 'address of the list (https://models.dev/api.json)')
    .action(async (options: SourceOptions & { from?: string }) => {
      const { refreshModels } = await import('./models/refresh.ts');
      await refreshModels(terminal, load(options), options);
    });
  return program;

  function addWorkspaces(parent: Command): void {
    const workspaces = parent.command('workspaces').description('create, list, change and delete workspaces');
    workspaces.addHelpText('after', workspacesExamples);
    command(workspaces, 'list', 'list all workspaces, the oldest first', workspacesExamples)
      .option('--json', 'as a JSON list')
      .action(async (options: SourceOptions & { json?: boolean }) => {
        const { printWorkspaces } = await import('./workspaces.ts');
        await printWorkspaces(terminal, readConfig(options), options);
      });
    command(workspaces, 'show', 'print a workspace with its settings', workspacesExamples)
      .argument(...workspaceArgument)
      .action(async (wanted: string, options: SourceOptions) => {
        const { showWorkspace } = await import('./workspaces.ts');
        await showWorkspace(terminal, readConfig(options), wanted);
      });
    withRateOptions(command(workspaces, 'create', 'create a workspace', workspacesExamples))
      .requiredOption('--name <name>', 'unique name')
      .option('--slug <slug>', 'name in paths (derived from the name)')
      .option(...workspaceDescriptionOption)
      .option(...defaultTextModelOption)
      .option(...defaultImageModelOption)
      .option(...defaultSortOption)
      .option(...defaultPluginsOption)
      .option(...disabledToolsOption)
      .option(...ioLoggingOption)
      .option(...ioSamplingOption)
      .action(async (options: SourceOptions & WorkspaceOptions & { name: string }) => {
        const { addWorkspace } = await import('./workspaces.ts');
        await addWorkspace(terminal, loadForStore(options), options);
      });
    withRateOptions(command(workspaces, 'update', 'change the settings of a workspace', workspacesExamples))
      .argument(...workspaceArgument)
      .option('--name <name>', 'unique name')
      .option('--slug <slug>', 'name in paths')
      .option(...workspaceDescriptionOption)
      .option(...defaultTextModelOption)
      .option(...defaultImageModelOption)
      .option(...defaultSortOption)
      .option(...defaultPluginsOption)
      .option(...disabledToolsOption)
      .option(...ioLoggingOption)
      .option('--no-io-logging', 'keep none from now on')
      .option(...ioSamplingOption)
      .action(async (wanted: string, options: SourceOptions & WorkspaceOptions) => {
        const { changeWorkspace } = await import('./workspaces.ts');
        await changeWorkspace(terminal, loadForStore(options), wanted, options);
      });
    command(workspaces, 'delete', 'remove a workspace that has no keys; its ledger entries stay', workspacesExamples)
      .argument(...workspaceArgument)
      .option('--confirm-default', 'also if it is the default one')
      .action(async (wanted: string, options: SourceOptions & { confirmDefault?: boolean }) => {
        const { removeWorkspace } = await import('./workspaces.ts');
        await removeWorkspace(terminal, readConfig(options), wanted, options);
      });
    command(workspaces, 'budgets', 'set, remove and list what a workspace may spend', workspacesExamples)
      .argument(...workspaceArgument)
      .option('--set <budget...>', 'an interval and USD: monthly=100')
      .option('--remove <interval...>', 'daily, weekly, monthly or lifetime')
      .option(...includeByokOption)
      .option('--no-include-byok', 'they do not count')
      .action(async (wanted: string, options: SourceOptions & BudgetOptions) => {
        const { changeWorkspaceBudgets } = await import('./workspaces.ts');
        await changeWorkspaceBudgets(terminal, readConfig(options), wanted, options);
      });
    command(workspaces, 'members', 'add, remove and list the members of a workspace', workspacesExamples)
      .argument(...workspaceArgument)
      .option('--add <member...>', 'ids; unknown members are created')
      .option('--remove <member...>', 'ids of members without a key there')
      .action(async (wanted: string, options: SourceOptions & { add?: string[]; remove?: string[] }) => {
        const { changeWorkspaceMembers } = await import('./workspaces.ts');
        await changeWorkspaceMembers(terminal, readConfig(options), wanted, options);
      });
  }

  function addMembers(parent: Command): void {
    const members = parent.command('members').description('list members, and limit how often their keys may be used');
    members.addHelpText('after', membersExamples);
    command(members, 'list', 'list all members, the oldest first', membersExamples)
      .option('--json', 'as a JSON list')
      .action(async (options: SourceOptions & { json?: boolean }) => {
        const { printMembers } = await import('./members.ts');
        await printMembers(terminal, readConfig(options), options);
      });
    command(members, 'show', 'print a member', membersExamples)
      .argument(...memberArgument)
      .action(async (id: string, options: SourceOptions) => {
        const { showMember } = await import('./members.ts');
        await showMember(terminal, readConfig(options), id);
      });
    withRateOptions(command(members, 'update', 'change the rate limits of a member', membersExamples))
      .argument(...memberArgument)
      .action(async (id: string, options: SourceOptions & RateOptions) => {
        const { changeMember } = await import('./members.ts');
        await changeMember(terminal, readConfig(options), id, options);
      });
  }

  function addPresets(parent: Command): void {
    const presets = parent
      .command('presets')
      .description('keep request settings under a name, for all keys of a workspace');
    presets.addHelpText('after', presetsExamples);
    const add = (name: string, description: string): Command =>
      command(presets, name, description, presetsExamples).option(...presetWorkspaceOption);
    add('list', 'list the presets of a workspace, the oldest first')
      .option('--json', 'as a JSON list')
      .action(async (options: SourceOptions & PresetPlace & { json?: boolean }) => {
        const { printPresets } = await import('./presets.ts');
        await printPresets(terminal, readConfig(options), options);
      });
    add('show', 'print a preset with its settings')
      .argument(...presetArgument)
      .action(async (slug: string, options: SourceOptions & PresetPlace) => {
        const { showPreset } = await import('./presets.ts');
        await showPreset(terminal, readConfig(options), slug, options);
      });
    add('save', 'create a preset, or a new version of it, from the body of a request')
      .argument(...presetArgument)
      .requiredOption('--body <file>', 'body of a POST /responses, or - for the standard input')
      .action(async (slug: string, options: SourceOptions & PresetPlace & { body: string }) => {
        const { savePresetFile } = await import('./presets.ts');
        await savePresetFile(terminal, readConfig(options), slug, options);
      });
    add('update', 'rename a preset, change its status, or choose another version')
      .argument(...presetArgument)
      .option('--slug <slug>', 'name in requests')
      .option('--name <name>', 'for people')
      .option('--description <text>', 'for people, or none')
      .option('--status <status>', 'active, disabled or archived')
      .option('--use-version <number>', 'the version that requests use')
      .action(async (slug: string, options: SourceOptions & PresetOptions) => {
        const { changePreset } = await import('./presets.ts');
        await changePreset(terminal, readConfig(options), slug, options);
      });
    add('delete', 'remove a preset with all its versions')
      .argument(...presetArgument)
      .action(async (slug: string, options: SourceOptions & PresetPlace) => {
        const { removePreset } = await import('./presets.ts');
        await removePreset(terminal, readConfig(options), slug, options);
      });
  }

  function addFiles(parent: Command): void {
    const files = parent.command('files').description('list, add and remove the files of a workspace');
    files.addHelpText('after', filesExamples);
    const read = (options: SourceOptions) => loadForStore(options, ['files']).config;
    const add = (name: string, description: string): Command =>
      command(files, name, description, filesExamples).option(...presetWorkspaceOption);
    add('list', 'list the files of a workspace, the oldest first')
      .option('--json', 'as a JSON list')
      .action(async (options: SourceOptions & FilePlace & { json?: boolean }) => {
        const { printFiles } = await import('./files.ts');
        await printFiles(terminal, read(options), options);
      });
    add('upload', 'store a file')
      .argument('<file>', 'path of the file')
      .option('--name <name>', 'name of the stored file (the name of the file)')
      .action(async (file: string, options: SourceOptions & FilePlace & { name?: string }) => {
        const { uploadFile } = await import('./files.ts');
        await uploadFile(terminal, read(options), file, options);
      });
    add('rm', 'delete a file')
      .argument('<id>', 'id of the file')
      .action(async (id: string, options: SourceOptions & FilePlace) => {
        const { removeFile } = await import('./files.ts');
        await removeFile(terminal, read(options), id, options);
      });
  }

  function addContainers(parent: Command): void {
    const containers = parent.command('containers').description('list, stop and remove the containers of a workspace');
    containers.addHelpText('after', containersExamples);
    const read = (options: SourceOptions) => loadForStore(options, ['files']).config;
    const add = (name: string, description: string): Command =>
      command(containers, name, description, containersExamples).option(...presetWorkspaceOption);
    add('list', 'list the containers of a workspace')
      .option('--json', 'as a JSON list')
      .action(async (options: SourceOptions & ContainerOptions) => {
        const { printContainers } = await import('./containers.ts');
        await printContainers(terminal, read(options), options);
      });
    add('files', 'list the files of a container')
      .argument('<id>', 'id of the container')
      .option('--json', 'as a JSON list')
      .action(async (id: string, options: SourceOptions & ContainerOptions) => {
        const { printContainerFiles } = await import('./containers.ts');
        await printContainerFiles(terminal, read(options), id, options);
      });
    add('stop', 'stop what runs in a container, and keep its files')
      .argument('<id>', 'id of the container')
      .option('--now', 'end running commands')
      .action(async (id: string, options: SourceOptions & ContainerOptions & { now?: boolean }) => {
        const { stopContainer } = await import('./containers.ts');
        await stopContainer(terminal, read(options), id, options);
      });
    add('rm', 'stop a container and delete it with its files')
      .argument('<id>', 'id of the container')
      .action(async (id: string, options: SourceOptions & ContainerOptions) => {
        const { removeContainer } = await import('./containers.ts');
        await removeContainer(terminal, read(options), id, options);
      });
  }

  function addGuardrails(parent: Command): void {
    const guardrails = parent
      .command('guardrails')
      .description('limit which models and providers keys may use, and filter contents');
    guardrails.addHelpText('after', guardrailsExamples);
    const withRules = (rules: Command): Command =>
      rules
        .option('--description <text>', 'for people, or none')
        .option('--allow-model <model...>', 'the only slugs or patterns to use, or none')
        .option('--ignore-model <model...>', 'slugs or patterns to exclude, or none')
        .option('--allow-provider <provider...>', 'the only providers to use, or none')
        .option('--ignore-provider <provider...>', 'providers to exclude, or none')
        .option(
          '--zdr <maker...>',
          'only endpoints that retain no data: anthropic, openai, google, xai, other, all, or none',
        )
        .option('--forbid <what...>', 'paid-training, free-training, free-publication, or none')
        .option('--limit <usd>', 'what each key and member with it may spend, or none')
        .option('--flag <filter...>', 'built-in content filters that only report: email, secrets, …')
        .option('--redact <filter...>', 'built-in content filters that replace what they find')
        .option('--block <filter...>', 'built-in content filters that reject the request')
        .option('--scan-scope <scope>', 'with regex-prompt-injection: user_only or all_messages')
        .option('--apply-to <side...>', 'with --flag, --redact and --block: input, output')
        .option('--filters <file>', 'content filters as in the API, in YAML or JSON, or none')
        .option('--limit-reset <when>', 'with --limit: daily, weekly or monthly (UTC)')
        .option(...includeByokOption)
        .option('--no-include-byok', 'they do not count');
    command(guardrails, 'list', 'list all guardrails, the oldest first', guardrailsExamples)
      .option('--workspace <name>', 'only of this workspace')
      .option('--json', 'as a JSON list')
      .action(async (options: SourceOptions & { json?: boolean; workspace?: string }) => {
        const { printGuardrails } = await import('./guardrails.ts');
        await printGuardrails(terminal, readConfig(options), options);
      });
    command(guardrails, 'show', 'print a guardrail with its keys and members', guardrailsExamples)
      .argument(...guardrailArgument)
      .action(async (wanted: string, options: SourceOptions) => {
        const { showGuardrail } = await import('./guardrails.ts');
        await showGuardrail(terminal, readConfig(options), wanted);
      });
    withRules(
      command(guardrails, 'create', 'create a guardrail; it is not assigned yet', guardrailsExamples)
        .requiredOption('--name <name>', 'name for people')
        .option('--workspace <name>', 'workspace of the keys and members that it is for (the default one)'),
    ).action(async (options: SourceOptions & RuleOptions & { name: string; workspace?: string }) => {
      const { addGuardrail } = await import('./guardrails.ts');
      await addGuardrail(terminal, loadForStore(options, ['guardrails']), options);
    });
    withRules(
      command(guardrails, 'update', 'change the rules of a guardrail', guardrailsExamples)
        .argument(...guardrailArgument)
        .option('--name <name>', 'name for people'),
    ).action(async (wanted: string, options: SourceOptions & RuleOptions) => {
      const { changeGuardrail } = await import('./guardrails.ts');
      await changeGuardrail(terminal, loadForStore(options, ['guardrails']), wanted, options);
    });
    command(guardrails, 'test', 'show what content filters find in a text, and what they do', guardrailsExamples)
      .requiredOption('--text <text>', 'the text; - reads the standard input')
      .option('--guardrail <guardrail>', guardrailArgument[1])
      .option('--file <file>', 'content filters as in the API, in YAML or JSON, in place of --guardrail')
      .option('--kind <kind>', 'user (a message of a user, the default), context (other input) or output')
      .action(async (options: SourceOptions & TestOptions) => {
        const { testGuardrail } = await import('./guardrails.ts');
        await testGuardrail(terminal, loadForStore(options, ['guardrails']), options);
      });
    command(guardrails, 'delete', 'remove a guardrail with its assignments', guardrailsExamples)
      .argument(...guardrailArgument)
      .action(async (wanted: string, options: SourceOptions) => {
        const { removeGuardrail } = await import('./guardrails.ts');
        await removeGuardrail(terminal, readConfig(options), wanted);
      });
    for (const [name, description, gives] of [
      ['assign', 'assign a guardrail to keys and members, in place of the one they have', true],
      ['unassign', 'unassign a guardrail from keys and members', false],
    ] as const) {
      command(guardrails, name, description, guardrailsExamples)
        .argument(...guardrailArgument)
        .option('--key <key...>', 'by hash, the first 4 or more digits of it, or name')
        .option('--member <id...>', 'members; it holds for all their keys')
        .action(async (wanted: string, options: SourceOptions & AssigneeOptions) => {
          const { addAssignments, removeAssignments } = await import('./guardrails.ts');
          await (gives ? addAssignments : removeAssignments)(terminal, readConfig(options), wanted, options);
        });
    }
  }
}

const keyArgument = ['<key>', 'its hash, the first 4 or more digits of it, or its name'] as const;
const memberArgument = ['<member>', 'its id'] as const;
const workspaceArgument = ['<workspace>', 'its id, slug or name'] as const;
const workspaceDescriptionOption = ['--description <text>', 'for people, or none'] as const;
const defaultTextModelOption = ['--default-text-model <slug>', 'of requests that name no model, or none'] as const;
const defaultImageModelOption = ['--default-image-model <slug>', 'the same for images'] as const;
const defaultSortOption = [
  '--default-provider-sort <key>',
  'of requests that set no order: price, throughput, latency, exacto, or none',
] as const;
const defaultPluginsOption = ['--default-plugins <json>', 'of all requests: a list as in the API, or none'] as const;
const disabledToolsOption = [
  '--disable-server-tools <types...>',
  'that requests must not use, such as router:web_search, or none',
] as const;
const ioLoggingOption = ['--io-logging', 'keep inputs and outputs'] as const;
const ioSamplingOption = ['--io-sampling <share>', 'share of the sessions, 0.0001 to 1'] as const;
const presetArgument = ['<slug>', 'its name in requests'] as const;
const presetWorkspaceOption = ['--workspace <name>', 'name, slug or id of its workspace (the default one)'] as const;
const guardrailArgument = [
  '<guardrail>',
  'its id, the first 4 or more digits of it, its name, or default:WORKSPACE',
] as const;
const limitOption = ['--limit <usd>', 'what it may spend, or none'] as const;
const limitResetOption = ['--limit-reset <when>', 'daily, weekly, monthly (UTC) or never'] as const;
const includeByokOption = ['--include-byok', 'BYOK costs count, too'] as const;

/** Options of every command that reads the configuration. */
const withSources = (command: Command): Command =>
  command
    .option('--config <file>', 'configuration file (headgate.yaml, if it exists)')
    .option('--data <folder>', 'data folder (./data)')
    .allowExcessArguments(false);

function refuse(name: string, program: Command): string {
  const nearest = findNearestName(name, [...program.commands.map((command) => command.name()), 'help']);
  const hint = nearest === undefined ? '"headgate help" lists the commands.' : `Did you mean "headgate ${nearest}"?`;
  return `There is no command "${name}". ${hint}`;
}
