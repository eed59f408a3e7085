import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '../../src/cli/program.ts';

/** The guide whose examples are run. */
export const guideUrl = new URL('../../docs/guides/routing.md', import.meta.url);

/** A body, and below it the output of `headgate explain` for it. A file above it replaces the one of the guide. */
const example = /(```yaml\n# another headgate\.yaml\n([^`]+)```\n\n)?```json\n([^`]+)```\n\n```text\n[\s\S]*?```/g;

/** Returns the guide with the current output of `headgate explain`, for the configuration in the guide. */
export async function writeGuide(): Promise<string> {
  const guide = readFileSync(guideUrl, 'utf8');
  const config = /```yaml\n# headgate\.yaml\n([^`]+)```/.exec(guide)?.[1] ?? '';
  const folder = mkdtempSync(join(tmpdir(), 'headgate-guide-'));
  try {
    const outputs = new Map<string, string>();
    for (const [whole, block = '', other, body = ''] of guide.matchAll(example)) {
      writeFileSync(join(folder, 'headgate.yaml'), other ?? config);
      writeFileSync(join(folder, 'body.json'), body);
      outputs.set(whole, `${block}\`\`\`json\n${body}\`\`\`\n\n\`\`\`text\n${await explain(folder)}\`\`\``);
    }
    return guide.replace(example, (whole) => outputs.get(whole)!);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function explain(cwd: string): Promise<string> {
  const told: string[] = [];
  const write = (text: string) => told.push(text);
  const names = ['OPENAI', 'ANTHROPIC', 'GROQ', 'NOVITA', 'DEEPINFRA'];
  const keys = Object.fromEntries(names.map((name) => [`${name}_API_KEY`, 'a-key']));
  const env = { ...keys, HEADGATE_ROUTING_SEED: '1' };
  await runCli(['explain', '--body', 'body.json'], { stdout: { write }, stderr: { write }, env, cwd });
  return told.join('');
}

if (import.meta.main) writeFileSync(guideUrl, await writeGuide());
