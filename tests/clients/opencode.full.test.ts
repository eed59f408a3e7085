import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { patienceMs } from './agent-seat.ts';
import { startBackEnds } from './back-end.ts';
import { findOpencode, OpencodeSeat } from './opencode-cli.ts';
import type { Turn } from './turn.ts';

const found = findOpencode();
const opencode = 'program' in found ? found.program : undefined;
const backEnds = opencode === undefined ? undefined : await startBackEnds();
afterAll(() => backEnds?.close());

it.runIf('skipped' in found)('the coding agent is not here', ({ skip }) => {
  const { skipped = '' } = found as { skipped?: string };
  process.stderr.write(`tests/clients/opencode.full.test.ts is skipped: ${skipped}\n`);
  skip(skipped);
});

/** The agent offers this tool to models of OpenAI, by their name. */
const patch = `*** Begin Patch
*** Update File: greeting.txt
@@
-Hello world
+Hello Grüße
*** End Patch`;

/** The wire that differs most from that of the agent. strict-agents.full.test.ts has its sessions on every wire. */
const wires = backEnds?.all.filter(({ kind }) => kind === 'gemini') ?? [];

describe.skipIf(!opencode).each(wires)(
  'the coding agent opencode with $kind',
  { timeout: 3 * patienceMs },
  (backEnd) => {
    it('edits a file', async () => {
      await using seat = new OpencodeSeat(opencode!);
      const file = join(seat.folder, 'greeting.txt');
      writeFileSync(file, 'Hello world\n');
      backEnd.takeUpstreamBodies();
      const task: Turn[] = [
        { text: 'I read the file.', calls: [{ name: 'read', input: { filePath: file } }] },
        { calls: [{ name: 'apply_patch', input: { patchText: patch } }] },
        { text: 'The file is changed.' },
      ];

      const run = await seat.exec(backEnd, backEnd.script('Change the greeting in greeting.txt.', ...task));

      expect(run, JSON.stringify(run)).toMatchObject({ code: 0 });
      expect(readFileSync(file, 'utf8')).toBe('Hello Grüße\n');
      expect(JSON.stringify(run.events)).toContain('The file is changed.');
      expect(backEnd.takeUpstreamBodies()).toHaveLength(task.length);
      expect(run.strangers).toEqual([]);
    });
  },
);
