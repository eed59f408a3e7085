import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { patienceMs } from './agent-seat.ts';
import { startBackEnds } from './back-end.ts';
import { ClaudeSeat, findClaude } from './claude-cli.ts';
import type { Turn } from './turn.ts';

const found = findClaude();
const claude = 'program' in found ? found.program : undefined;
const backEnds = claude === undefined ? undefined : await startBackEnds();
afterAll(() => backEnds?.close());

it.runIf('skipped' in found)('the coding agent is not here', ({ skip }) => {
  const { skipped = '' } = found as { skipped?: string };
  process.stderr.write(`tests/clients/claude.full.test.ts is skipped: ${skipped}\n`);
  skip(skipped);
});

describe.skipIf(!claude).each(backEnds?.all ?? [])(
  'the coding agent Claude Code with $kind',
  { timeout: 3 * patienceMs },
  (backEnd) => {
    const { kind } = backEnd;

    it('edits a file', async () => {
      await using seat = new ClaudeSeat(claude!);
      const file = join(seat.folder, 'greeting.txt');
      writeFileSync(file, 'Hello world\n');
      backEnd.takeUpstreamBodies();
      const task: Turn[] = [
        {
          reasoning: 'I read the file first.',
          encrypted: 'b3BhcXVl',
          text: 'I read the file.',
          calls: [
            { name: 'Read', input: { file_path: file } },
            { name: 'Bash', input: { command: 'wc -c < greeting.txt', description: 'Counts' } },
          ],
        },
        {
          reasoning: 'Now I edit it.',
          calls: [{ name: 'Edit', input: { file_path: file, old_string: 'world', new_string: 'Grüße "all"' } }],
        },
        { text: 'The file is changed.' },
      ];

      const run = await seat.exec(backEnd, backEnd.script('Change the greeting in greeting.txt.', ...task));

      expect(run, JSON.stringify(run.events.at(-1))).toMatchObject({ code: 0 });
      expect(readFileSync(file, 'utf8')).toBe('Hello Grüße "all"\n');
      expect(run.events.at(-1)).toMatchObject({ type: 'result', is_error: false, result: 'The file is changed.' });
      const results = run.events.flatMap(({ message }) => message?.content ?? []);
      expect(results.filter(({ type, is_error: isError }) => type === 'tool_result' && isError)).toEqual([]);
      if (backEnd.upstream) {
        const bodies = backEnd.takeUpstreamBodies().map((body) => JSON.stringify(body));
        expect(bodies).toHaveLength(task.length);
        expect(bodies[1]).toContain('Hello world');
        if (kind === 'openai-responses') expect(bodies[1]).toContain('b3BhcXVl');
        expect(bodies[0]!.includes('x-anthropic-billing-header')).toBe(kind === 'anthropic-messages');
      }
      expect(run.strangers).toEqual([]);
    });

    it.runIf(['openai-chat', 'anthropic-messages'].includes(kind))('reports the error of the provider', async () => {
      await using seat = new ClaudeSeat(claude!);

      const turn: Turn = { fail: { status: 400, message: 'The engine is on fire.' } };
      // It sends a rejected request again, without features that the server may not have.
      const turns = Array.from({ length: 8 }, () => turn);
      const run = await seat.exec(backEnd, backEnd.script('Hello.', ...turns));

      expect(run.code).not.toBe(0);
      expect(JSON.stringify(run.events)).toContain('The engine is on fire.');
    });
  },
);
