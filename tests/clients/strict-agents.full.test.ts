import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type AgentRun, findAgent, patienceMs } from './agent-seat.ts';
import { type BackEnd, startStrictBackEnds } from './back-end.ts';
import { ClaudeSeat, findClaude } from './claude-cli.ts';
import { CodexSeat, findCodex } from './codex-cli.ts';
import { NpmSeat, npmAgents } from './npm-agents.ts';
import { findOpencode, OpencodeServer } from './opencode-cli.ts';
import type { Call, Turn } from './turn.ts';

const backEnds = await startStrictBackEnds();
let opencode: OpencodeServer | undefined;
afterAll(async () => {
  await opencode?.[Symbol.asyncDispose]();
  await backEnds.close();
});

interface Seat extends AsyncDisposable {
  readonly folder: string;
  exec(backEnd: BackEnd, prompt: string, options: { continues: boolean }): Promise<AgentRun<object>>;
}

interface TestedAgent {
  name: string;
  found: { program: string } | { skipped: string };
  open(program: string): Seat;
  startsOnly?: boolean | undefined;
  /** Calls that read a file and count its bytes, in one turn. */
  read(file: string): Call[];
  /** Replaces `world` in a file by `moon`. */
  edit(file: string): Call;
}

const agents: TestedAgent[] = [
  {
    name: 'Codex',
    found: findCodex(),
    open: (program) => new CodexSeat(program),
    read: (file) => [
      { name: 'exec_command', input: { cmd: `cat ${file}` } },
      { name: 'exec_command', input: { cmd: `wc -c < ${file}` } },
    ],
    edit: (file) => ({ name: 'exec_command', input: { cmd: `sed -i s/world/moon/ ${file}` } }),
  },
  {
    name: 'Claude Code',
    found: findClaude(),
    open: (program) => new ClaudeSeat(program),
    read: (file) => [
      { name: 'Read', input: { file_path: file } },
      { name: 'Bash', input: { command: `wc -c < ${file}`, description: 'Counts' } },
    ],
    edit: (file) => ({ name: 'Edit', input: { file_path: file, old_string: 'world', new_string: 'moon' } }),
  },
  {
    name: 'opencode',
    found: findOpencode(),
    open(program) {
      opencode ??= new OpencodeServer(program);
      return opencode.open();
    },
    read: (file) => [
      { name: 'read', input: { filePath: file } },
      { name: 'bash', input: { command: `wc -c < ${file}`, description: 'Counts' } },
    ],
    edit: (file) => ({ name: 'bash', input: { command: `sed -i s/world/moon/ ${file}`, description: 'Edits' } }),
  },
  ...npmAgents.map((agent) => ({
    name: agent.title,
    found: findAgent(agent),
    open: (program: string) => new NpmSeat(program, agent),
    startsOnly: agent.startsOnly,
    read: (file: string) => [agent.read(file), agent.shell(`wc -c < ${file}`)],
    edit: (file: string) => agent.edit(file, 'world', 'moon'),
  })),
];

describe.each(agents)('$name', { timeout: 3 * patienceMs }, ({ name, found, open, startsOnly, read, edit }) => {
  it.runIf('skipped' in found)('is not here', ({ skip }) => {
    const { skipped = '' } = found as { skipped?: string };
    process.stderr.write(`${name} is not tested with strict servers: ${skipped}\n`);
    skip(skipped);
  });

  it.skipIf('skipped' in found).concurrent.each(backEnds.all.map((backEnd) => [backEnd.id, backEnd] as const))(
    'works in a session with the rules of %s',
    async (_, backEnd) => {
      const earlier = backEnd.refusals.length; // of other agents
      await using seat = open((found as { program: string }).program);
      const file = join(seat.folder, 'greeting.txt');
      writeFileSync(file, 'Hello world\n');
      const turns: Turn[][] = [
        [
          { reasoning: 'I read it first.', text: 'I read the file.', calls: read(file) },
          { reasoning: 'Now I edit it.', calls: [edit(file)] },
          { text: 'The file is changed.' },
        ],
        [{ reasoning: 'I read it again.', calls: read(file) }, { text: 'It says moon.' }],
      ];
      for (const [index, task] of (startsOnly ? turns.slice(0, 1) : turns).entries()) {
        backEnd.takeUpstreamBodies();
        const prompt = backEnd.script(index === 0 ? 'Change the greeting.' : 'Read it again.', ...task);
        const run = await seat.exec(backEnd, prompt, { continues: index > 0 });
        expect(backEnd.refusals.slice(earlier)).toEqual([]);
        expect(run, JSON.stringify(run)).toMatchObject({ code: 0 });
        expect(run.stdout).toContain(task.at(-1)!.text);
        expect(backEnd.takeUpstreamBodies()).toHaveLength(task.length);
      }
      expect(readFileSync(file, 'utf8')).toBe('Hello moon\n');
    },
  );
});
