import type { Command } from 'commander';
import type { AssigneeOptions, RuleOptions, TestOptions } from '../guardrails.ts';
import { type JsonOption, jsonOption } from '../print-object.ts';
import { type CommandParts, includeByokOption, type SourceOptions } from './command-parts.ts';

/** Adds `headgate guardrails`. */
export function addGuardrailCommands(program: Command, parts: CommandParts): void {
  const { addGroup, findStore, loadForStore, readConfig, terminal } = parts;
  const { add } = addGroup(
    program,
    'guardrails',
    'limit which models and providers keys may use, and filter contents',
    examples,
  );
  const withRules = (rules: Command): Command =>
    rules
      .option(...jsonOption)
      .option('--description <text>', 'description, or none')
      .option('--allow-model <model...>', 'the only slugs or patterns to use, or none')
      .option('--ignore-model <model...>', 'slugs or patterns to exclude, or none')
      .option('--allow-provider <provider...>', 'the only providers to use, or none')
      .option('--ignore-provider <provider...>', 'providers to exclude, or none')
      .option(
        '--zdr <maker...>',
        'only endpoints that retain no data: anthropic, openai, google, xai, other, all, or none',
      )
      .option('--forbid <what...>', 'paid-training, free-training, free-publication, or none')
      .option('--limit <usd>', 'maximum that each key and member can spend, or none')
      .option('--flag <filter...>', 'built-in content filters that only report: email, secrets, …')
      .option('--redact <filter...>', 'built-in content filters that replace their matches')
      .option('--block <filter...>', 'built-in content filters that reject the request')
      .option('--scan-scope <scope>', 'with regex-prompt-injection: user_only or all_messages')
      .option('--apply-to <side...>', 'with --flag, --redact and --block: input, output')
      .option('--filters <file>', 'content filters as in the API, in YAML or JSON, or none')
      .option('--limit-reset <when>', 'with --limit: daily, weekly or monthly (UTC)')
      .option(...includeByokOption)
      .option('--no-include-byok', 'BYOK calls do not count');
  add('list', 'list all guardrails, the oldest first')
    .option('--workspace <name>', 'only guardrails of this workspace')
    .option('--json', 'print a JSON list')
    .action(async (options: SourceOptions & { json?: boolean; workspace?: string }) => {
      const { printGuardrails } = await import('../guardrails.ts');
      await printGuardrails(terminal, await findStore(options), options);
    });
  add('show', 'print a guardrail with its keys and members')
    .argument(...guardrailArgument)
    .option(...jsonOption)
    .action(async (wanted: string, options: SourceOptions & JsonOption) => {
      const { showGuardrail } = await import('../guardrails.ts');
      await showGuardrail(terminal, await readConfig(options), wanted, options);
    });
  withRules(
    add('create', 'create a guardrail; it is not assigned yet')
      .requiredOption('--name <name>', 'display name')
      .option('--workspace <name>', 'workspace of the keys and members (the default one)'),
  ).action(async (options: SourceOptions & RuleOptions & JsonOption & { name: string; workspace?: string }) => {
    const { addGuardrail } = await import('../guardrails.ts');
    await addGuardrail(terminal, await loadForStore(options, ['guardrails']), options);
  });
  withRules(
    add('update', 'change the rules of a guardrail')
      .argument(...guardrailArgument)
      .option('--name <name>', 'display name'),
  ).action(async (wanted: string, options: SourceOptions & RuleOptions & JsonOption) => {
    const { changeGuardrail } = await import('../guardrails.ts');
    await changeGuardrail(terminal, await loadForStore(options, ['guardrails']), wanted, options);
  });
  add('test', 'show what content filters find in a text, and what they do')
    .requiredOption('--text <text>', 'the text; - reads the standard input')
    .option('--guardrail <guardrail>', guardrailArgument[1])
    .option('--file <file>', 'content filters as in the API, in YAML or JSON, instead of --guardrail')
    .option('--kind <kind>', 'user (a message of a user, the default), context (other input) or output')
    .option(...jsonOption)
    .action(async (options: SourceOptions & TestOptions) => {
      const { testGuardrail } = await import('../guardrails.ts');
      await testGuardrail(terminal, await loadForStore(options, ['guardrails']), options);
    });
  add('delete', 'remove a guardrail with its assignments')
    .argument(...guardrailArgument)
    .action(async (wanted: string, options: SourceOptions) => {
      const { removeGuardrail } = await import('../guardrails.ts');
      await removeGuardrail(terminal, await readConfig(options), wanted);
    });
  for (const [name, description, gives] of [
    ['assign', 'assign a guardrail to keys and members, in place of the one they have', true],
    ['unassign', 'unassign a guardrail from keys and members', false],
  ] as const) {
    add(name, description)
      .argument(...guardrailArgument)
      .option('--key <key...>', 'by hash, the first 4 or more digits of it, or name')
      .option('--member <id...>', 'members; applies to all their keys')
      .action(async (wanted: string, options: SourceOptions & AssigneeOptions) => {
        const { addAssignments, removeAssignments } = await import('../guardrails.ts');
        await (gives ? addAssignments : removeAssignments)(terminal, await readConfig(options), wanted, options);
      });
  }
}

const guardrailArgument = [
  '<guardrail>',
  'its id, the first 4 or more digits of it, its name, or default:WORKSPACE',
] as const;

const examples = `
Examples:
  $ headgate guardrails create --name interns --allow-model simulator/echo simulator/writer
  $ headgate guardrails assign interns --key app --member ada
  $ headgate guardrails update interns --zdr all --allow-model none
  $ headgate guardrails update default:main --forbid free-training
  $ headgate guardrails create --name pii --redact email phone --block ssn credit-card
  $ headgate guardrails test --guardrail pii --text 'Write to jane@example.com'
  $ headgate guardrails list`;
