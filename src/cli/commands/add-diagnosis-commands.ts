import { type Command, Option } from 'commander';
import type { ExplainOptions } from '../explain.ts';
import type { RecordOptions } from '../record.ts';
import type { ReplayCommandOptions } from '../replay.ts';
import type { CommandParts, SourceOptions } from './command-parts.ts';

/** Adds the commands that help to find the cause of a problem. */
export function addDiagnosisCommands(program: Command, parts: CommandParts): void {
  const { command, createLoader, exit, load, terminal } = parts;
  command(program, 'doctor', 'check configuration, data folder, storage, port and providers', doctorExamples)
    .option('--probe', 'request the models of each provider, with each key, and search with each engine')
    .option('--port <number>', 'port to check (that of the configuration)')
    .option('--host <address>', 'address to check (that of the configuration)')
    .action(async ({ probe, ...options }: SourceOptions & { probe?: boolean }) => {
      const { doctor } = await import('../doctor.ts');
      exit(await doctor(terminal, await createLoader(options), { probe }));
    });

  command(program, 'console', 'print a link that signs you in to the web console once', consoleExamples)
    .option('--key <key>', 'key by hash or name, whose rights the session has (a management key)')
    .action(async (options: SourceOptions & { key?: string }) => {
      const { printSignInLink } = await import('../print-sign-in-link.ts');
      await printSignInLink(terminal, await parts.loadForStore(options, ['server']), options);
    });

  command(
    program,
    'explain',
    'print which endpoints a request would use, and why others are excluded; sends nothing',
    explainExamples,
  )
    .argument('[model]', 'slug of a model, a router, an alias or a preset')
    .option('--body <file>', 'instead of the model: body of the request, as JSON; - for standard input')
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
    .option('--json', 'print JSON')
    .action(async (model: string | undefined, options: SourceOptions & ExplainOptions) => {
      const { explain: run } = await import('../explain.ts');
      exit(await run(terminal, await load(options), { ...options, model }));
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
    .option('--stream', 'request only a stream (a stream and a whole response)')
    .option('--whole', 'request only a whole response')
    .option('--force', 'overwrite an earlier recording of that name')
    .action(async (options: SourceOptions & RecordOptions) => {
      const { recordExchange } = await import('../record.ts');
      exit(await recordExchange(terminal, (await load(options)).config, options));
    });

  program
    .command('replay')
    .description('show a recorded response as a client would receive it: a line for each event')
    .argument('<file>', 'recording')
    .option('--wire <name>', 'wire that reads the response (that of the .request.json beside the file)')
    .option('--request <file>', 'request of the recording (the .request.json beside the file)')
    .option('--json', 'print the response or the error instead of the events')
    .allowExcessArguments(false)
    .addHelpText('after', recordExamples)
    .action(async (file: string, options: ReplayCommandOptions) => {
      const { replayFile } = await import('../replay.ts');
      exit(await replayFile(terminal, file, options));
    });
}

const consoleExamples = `
Examples:
  $ headgate console
  $ headgate console --key app         see what the key app may see`;

const doctorExamples = `
Examples:
  $ headgate doctor --probe
  $ headgate doctor --config staging.yaml && headgate start --config staging.yaml`;

const explainExamples = `
Examples:
  $ headgate explain router/auto
  $ echo '{"model": "router/auto", "input": "Translate: hello"}' | headgate explain --body -
  $ headgate explain --body request.json --json`;

const recordExamples = `
Examples:
  $ headgate record --provider groq --model llama-3.3-70b-versatile --body hello.json --out report
  $ headgate replay report/hello.stream.http
  $ headgate replay report/hello.whole.http --json`;
