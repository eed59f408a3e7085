import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { textWires } from '../../src/providers/index.ts';
import { patienceMs } from './agent-seat.ts';
import { type BackEnd, backEndKinds, startBackEnds } from './back-end.ts';
import { CodexSeat, findCodex } from './codex-cli.ts';
import type { Turn } from './turn.ts';

const found = findCodex();
const codex = 'program' in found ? found.program : undefined;
const backEnds = codex === undefined ? undefined : await startBackEnds();
afterAll(() => backEnds?.close());

/** Encrypted content of the provider. The agent keeps it if it knows the field. */
const seal = 'b3BhcXVlIGFuZCBub2JvZHkgZWxzZSdz';

const shell = (cmd: string) => ({ name: 'exec_command', input: { cmd } });
const text = "Grüße from the agent's shell";
const task = [
  {
    reasoning: 'I write the file first.',
    encrypted: seal,
    text: 'I write the file.',
    calls: [shell(`printf '%s' "${text}" > greeting.txt`)],
  },
  { reasoning: 'Now I read it.', calls: [shell('cat greeting.txt'), shell('wc -c < greeting.txt')] },
  { text: 'The file is there.' },
];

/** Returns the number of WebSockets that the gateway has opened. */
async function countUpgrades({ gateway }: BackEnd): Promise<number> {
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  const row = /^headgate_http_requests_total\{method="GET",route="\/api\/v1\/responses",status="2xx"\} (\d+)$/m;
  const found = row.exec(metrics);
  return Number(found?.[1] ?? 0);
}

it.runIf('skipped' in found)('the coding agent is not here', ({ skip }) => {
  const { skipped = '' } = found as { skipped?: string };
  process.stderr.write(`tests/clients/codex.full.test.ts is skipped: ${skipped}\n`);
  skip(skipped);
});

it('every wire has a back end to test the agent with', () => {
  expect([...backEndKinds].sort()).toEqual([...textWires.keys()].sort());
});

describe.skipIf(!codex).each(backEnds?.all ?? [])(
  'the coding agent with $kind',
  { timeout: 3 * patienceMs },
  (backEnd) => {
    const { kind } = backEnd;

    it('completes a task with its shell', async () => {
      await using slot = new CodexSeat(codex!);
      backEnd.takeUpstreamBodies();

      const run = await slot.exec(backEnd, backEnd.script('Write a greeting into greeting.txt, and read it.', ...task));

      expect(run, run.stderr).toMatchObject({ code: 0 });
      expect(readFileSync(join(slot.folder, 'greeting.txt'), 'utf8')).toBe(text);
      const items = run.events.flatMap(({ type, item }) => (type === 'item.completed' && item ? [item] : []));
      const commands = items.filter(({ type }) => type === 'command_execution'); // parallel calls end in any order
      expect(commands.map(({ exit_code }) => exit_code)).toEqual([0, 0, 0]);
      const outputs = commands.map(({ aggregated_output }) => aggregated_output?.trim());
      expect(outputs.sort()).toEqual(['', String(Buffer.byteLength(text)), text]);
      expect(items.at(-1)).toMatchObject({ type: 'agent_message', text: 'The file is there.' });
      expect(run.events.at(-1)?.type).toBe('turn.completed');
      if (backEnd.upstream) {
        const bodies = backEnd.takeUpstreamBodies().map((body) => JSON.stringify(body));
        expect(bodies).toHaveLength(task.length);
        expect(bodies[1]).toContain('Process exited with code 0');
        expect(bodies[2]).toContain(text);
        if (kind === 'openai-responses') expect(bodies[2]).toContain(seal);
      }
      expect(run.strangers).toEqual([]);
    });

    it('knows the models of the gateway, and works with its instructions', async () => {
      await using slot = new CodexSeat(codex!);
      const model = (await slot.listModels(backEnd)).find(({ slug }) => slug === backEnd.model);
      expect(model).toMatchObject({ visibility: 'list', ...(kind !== 'simulator' && { context_window: 400_000 }) });
      backEnd.takeUpstreamBodies();
      const patch = ['*** Begin Patch', '*** Add File: note.txt', '+A note', '*** End Patch'].join('\n');
      const turns = [{ calls: [shell(`apply_patch <<'PATCH'\n${patch}\nPATCH`)] }, { text: 'It is written.' }];

      const run = await slot.exec(backEnd, backEnd.script('Write a note.', ...turns), { discovers: true });

      expect(run, run.stderr).toMatchObject({ code: 0 });
      expect(readFileSync(join(slot.folder, 'note.txt'), 'utf8')).toBe('A note\n');
      expect(JSON.stringify(run.events)).not.toContain('metadata'); // a warning about an unknown model
      for (const body of backEnd.takeUpstreamBodies()) expect(JSON.stringify(body)).toContain('*** Begin Patch');
    });

    it('completes a session of two prompts over WebSockets', async () => {
      await using slot = new CodexSeat(codex!);
      backEnd.takeUpstreamBodies();
      const first = [{ calls: [shell("printf 'one' > a.txt")] }, { calls: [shell('cat a.txt')] }, { text: 'Written.' }];
      const second = [{ calls: [shell('wc -c < a.txt')] }, { text: 'Counted.' }];
      const upgrades = await countUpgrades(backEnd);

      const run = await slot.exec(backEnd, backEnd.script('Write it.', ...first), { overWebSocket: true });
      const next = await slot.exec(backEnd, backEnd.script('Count it.', ...second), {
        overWebSocket: true,
        continues: true,
      });

      expect(run, run.stderr).toMatchObject({ code: 0 });
      expect(next, next.stderr).toMatchObject({ code: 0 });
      expect(JSON.stringify(run.events)).toContain('Written.');
      expect(JSON.stringify(next.events)).toContain('Counted.');
      expect((await countUpgrades(backEnd)) - upgrades).toBe(2); // one for each run of the program
      if (backEnd.upstream) expect(backEnd.takeUpstreamBodies()).toHaveLength(first.length + second.length);
      expect([...run.strangers, ...next.strangers]).toEqual([]);
    });

    it.skipIf(kind === 'simulator')('compacts its conversation, and continues from the summary', async () => {
      await using slot = new CodexSeat(codex!);
      backEnd.takeUpstreamBodies();
      const turns = [{ calls: [shell('echo one')] }, { text: 'The summary: it said one.' }, { text: 'Done.' }];

      const run = await slot.exec(backEnd, backEnd.script('Say one.', ...turns), { compacts: true });

      expect(run, run.stderr).toMatchObject({ code: 0 });
      expect(JSON.stringify(run.events)).toContain('Done.');
      const [, summarized, continued, ...more] = backEnd.takeUpstreamBodies().map((body) => JSON.stringify(body));
      expect(more).toEqual([]);
      expect(summarized).toContain('Summarize this conversation');
      expect(continued).toContain('The summary: it said one.');
      expect(continued).toContain('Say one.');
      expect(continued).not.toContain('echo one');
      expect(run.strangers).toEqual([]);
    });

    it.each<[string, Turn, string]>([
      ['before it answers', { fail: { status: 500, message: 'The engine is on fire.' } }, 'The engine is on fire.'],
      ['in the middle', { text: 'One two three four.', after: 'failure' }, 'The server had an error.'],
    ])('reports the error if the provider fails %s', async (_when, turn, message) => {
      await using slot = new CodexSeat(codex!);

      const run = await slot.exec(backEnd, backEnd.script('Hello.', turn));

      expect(run.code).not.toBe(0);
      expect(JSON.stringify(run.events)).toContain(message);
      expect(run.events.at(-1)?.type).toBe('turn.failed');
    });
  },
);
