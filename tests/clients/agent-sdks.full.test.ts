import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readExamples } from '../docs/run-examples.ts';
import { AgentSeat, patienceMs } from './agent-seat.ts';
import { startStrictBackEnds } from './back-end.ts';
import { claudeEnv, findClaude } from './claude-cli.ts';
import { findCodex } from './codex-cli.ts';
import { findFrameworks } from './packages.ts';
import type { Call, Turn } from './turn.ts';

const backEnds = await startStrictBackEnds();
afterAll(() => backEnds.close());
const frameworks = findFrameworks();

interface AgentSdk {
  name: string;
  found: ReturnType<typeof findCodex>;
  /** A text of its example, and what the test needs in its place: the installed program, and no sandbox around it. */
  replace(program: string): Record<string, string>;
  env(address: { url: string; key: string; model: string }): Record<string, string>;
  shell(command: string): Call;
}

const sdks: AgentSdk[] = [
  {
    name: '@openai/codex-sdk',
    found: findCodex(),
    replace: (program) => ({
      'new Codex({': `new Codex({ codexPathOverride: '${program}',`,
      "'workspace-write'": "'danger-full-access'",
    }),
    env: ({ key }) => ({ HEADGATE_KEY: key }),
    shell: (cmd) => ({ name: 'exec_command', input: { cmd } }),
  },
  {
    name: '@anthropic-ai/claude-agent-sdk',
    found: findClaude(),
    replace: (program) => ({ 'options = {': `options = { pathToClaudeCodeExecutable: '${program}',` }),
    env: claudeEnv,
    shell: (command) => ({ name: 'Bash', input: { command, description: 'Runs' } }),
  },
];

describe.each(sdks)('$name', { timeout: 3 * patienceMs }, ({ name, found, replace, env, shell }) => {
  const skipped = [frameworks, found]
    .map((part) => ('skipped' in part ? part.skipped : ''))
    .join('\n')
    .trim();
  it.runIf(skipped)('is not here', ({ skip }) => {
    process.stderr.write(`${name} is not tested: ${skipped}\n`);
    skip(skipped);
  });

  it.skipIf(skipped).concurrent.each(backEnds.all.map((backEnd) => [backEnd.id, backEnd] as const))(
    'works in a session of two prompts with the rules of %s, as the guide says',
    async (_, { gateway, model, refusals, script, takeUpstreamBodies }) => {
      const earlier = refusals.length; // of the other SDK
      takeUpstreamBodies();
      await using seat = new AgentSeat(process.execPath);
      const file = join(seat.folder, 'greeting.txt');
      writeFileSync(file, 'Hello world\n');
      const turns: Turn[] = [
        { reasoning: 'I read it first.', calls: [shell(`cat ${file}`), shell(`wc -c < ${file}`)] },
        { reasoning: 'Now I edit it.', calls: [shell(`sed -i s/world/moon/ ${file}`)] },
        { text: 'The file is changed.' },
        { reasoning: 'I read it again.', calls: [shell(`cat ${file}`)] },
        { text: 'It says moon.' },
      ];
      script('', ...turns);
      const [example] = readExamples('docs/guides/coding-agents.md', 'js', gateway).filter(({ code }) =>
        code.includes(`'${name}'`),
      );
      const changes = { 'anthropic/claude-sonnet-4.5': model, ...replace((found as { program: string }).program) };
      const code = Object.entries(changes).reduce((text, [from, to]) => text.replace(from, to), example!.code);
      symlinkSync(join((frameworks as { folder: string }).folder, 'node_modules'), join(seat.home, 'node_modules'));
      writeFileSync(join(seat.home, 'run.mjs'), code);
      const run = await seat.run([join(seat.home, 'run.mjs')], env({ url: gateway.url, key: gateway.key, model }));
      expect(refusals.slice(earlier)).toEqual([]);
      expect(run, JSON.stringify(run)).toMatchObject({ code: 0, stdout: 'The file is changed.\nIt says moon.\n' });
      expect(takeUpstreamBodies()).toHaveLength(turns.length);
      expect(readFileSync(file, 'utf8')).toBe('Hello moon\n');
    },
  );
});
