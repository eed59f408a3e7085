import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram } from './program.ts';
import { colorize, type Terminal } from './terminal.ts';

const terminal: Terminal = { stdout: { write: () => true }, stderr: { write: () => true }, env: {}, cwd: '/' };

/** `keys create` → its options. */
function* listCommands(command: Command, name = ''): Generator<[string, string[]]> {
  for (const child of command.commands) {
    const path = `${name} ${child.name()}`.trim();
    if (child.commands.length > 0) yield* listCommands(child, path);
    else yield [path, child.options.filter((option) => !option.hidden).map((option) => option.long ?? '')];
  }
}

describe('docs/reference/cli.md', () => {
  const page = readFileSync(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8');
  const commands = [...listCommands(createProgram(terminal, () => {}))];

  it.each(commands)('lists headgate %s and its options', (name, options) => {
    const section = page.split(/^#+ /m).find((part) => part.startsWith(`headgate ${name}\n`));
    expect(section).toBeDefined();
    const common = ['--config', '--data'];
    const documented = [...(section ?? '').matchAll(/^\| `(--[a-z-]+)/gm)].map(([, option]) => option!);
    expect(documented.toSorted()).toEqual(options.filter((option) => !common.includes(option)).toSorted());
  });
});

describe('what a terminal shows', () => {
  it('has colors on a terminal only, and not under NO_COLOR', () => {
    const stdout = { write: () => true, isTTY: true };
    expect(colorize({ stdout, env: {} }, 'red', 'x')).toBe('\u001b[31mx\u001b[39m');
    expect(colorize({ stdout, env: { NO_COLOR: '1' } }, 'red', 'x')).toBe('x');
    expect(colorize({ stdout: { write: () => true }, env: {} }, 'red', 'x')).toBe('x');
  });
});
