import type { Command } from 'commander';
import type { ExportRequestsOptions } from '../export-requests.ts';
import type { ListRequestsOptions, ShowRequestOptions } from '../requests.ts';
import { CommandError } from '../terminal.ts';
import type { CommandParts, SourceOptions } from './command-parts.ts';

/** Adds `headgate requests`. */
export function addRequestCommands(program: Command, parts: CommandParts): void {
  const { addGroup, findStore, terminal } = parts;
  const { add } = addGroup(
    program,
    'requests',
    'list the last requests, follow them, show one in full, export them',
    examples,
  );
  addFilters(
    add('list', 'list the last requests, the newest last; what "headgate requests" alone does', { isDefault: true })
      .argument('[id]', 'print this request in full, as "show" does')
      .option('--limit <number>', 'maximum number of requests, up to 1000 (20)')
      .option('--follow', 'also print further requests as they end'),
  )
    .option('--sort <value>', 'order by time, cost or duration, the largest first; cost and duration need --since')
    .option('--order <order>', 'desc, or asc for the smallest first')
    .option('--json', 'print a JSON list; with --follow, a line of JSON for each request')
    .action(async (id: string | undefined, options: SourceOptions & ListRequestsOptions) => {
      const { printRequests, showRequest } = await import('../requests.ts');
      if (id === undefined) return printRequests(terminal, await findStore(options), options);
      const { config: _config, data: _data, json, ...filters } = options;
      const [filter] = Object.keys(filters);
      if (filter !== undefined) throw new CommandError(`--${filter} filters a list. Omit it, or the id.`);
      await showRequest(terminal, await findStore(options), id, { json });
    });
  addFilters(
    add('export', 'print all requests as lines of JSON, the oldest first, with their contents if they are kept'),
  )
    .option('--no-contents', 'leave out inputs and outputs')
    .action(async (options: SourceOptions & ExportRequestsOptions) => {
      const { exportRequests } = await import('../export-requests.ts');
      await exportRequests(terminal, await findStore(options), options);
    });
  add('show', 'print a request in full')
    .argument('[id]', 'generation id, or the end of it that the list shows (the last request)')
    .option('--content', 'also print input and output, if the workspace keeps them')
    .option('--json', 'print JSON')
    .action(async (id: string | undefined, options: SourceOptions & ShowRequestOptions) => {
      const { showRequest } = await import('../requests.ts');
      await showRequest(terminal, await findStore(options), id, options);
    });
}

/** Adds the conditions that lists and exports share. */
const addFilters = (command: Command): Command =>
  command
    .option('--failed', 'only requests without a complete response')
    .option('--model <slug>', 'requested model, or model that responded')
    .option('--provider <id>', 'id or display name')
    .option('--key <key>', 'by hash, the first 4 or more digits of it, or name')
    .option('--member <id>', 'owner of the key')
    .option('--workspace <name>', 'id, slug or name')
    .option('--session <id>', 'session_id of the requests')
    .option('--tag <key:value>', 'tag of the requests; several have commas between them')
    .option('--status <status>', 'HTTP status, or a class such as 5xx')
    .option('--outcome <outcome>', 'completed, incomplete, failed or cancelled')
    .option('--finish-reason <reason>', 'the same in the words of finish_reason: stop, incomplete, failed or cancelled')
    .option('--error-type <type>', 'type of the failure')
    .option('--tool <name>', 'server tool that was called, such as router:web_search')
    .option('--min-cost <usd>', 'least cost')
    .option('--max-cost <usd>', 'highest cost')
    .option('--min-duration <ms>', 'shortest duration')
    .option('--max-duration <ms>', 'longest duration')
    .option('--streamed <true|false>', 'whether the response was streamed')
    .option('--cached <true|false>', 'whether a part of the input came from a cache')
    .option('--external-user <hash>', 'end user, by the hash that a request shows as external_user')
    .option('--since <date>', 'first day (UTC), or a time')
    .option('--until <date>', 'last day (UTC), or a time');

const examples = `
Examples:
  $ headgate requests
  $ headgate requests --follow
  $ headgate requests --failed --since 2026-11-01 --json
  $ headgate requests UTJiAXlt
  $ headgate requests show --content
  $ headgate requests export --since 2026-11-01 > november.jsonl

The list is that of the ledger: requests that reached no model are in the log alone.`;
