import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import {
  definitionsUrl,
  describeCommands,
  pageUrl,
  writeDefinitions,
} from '../../scripts/commands/describe-commands.ts';
import { createProgram } from './program.ts';
import { resourceCommands } from './resources/find-command.ts';
import { colorize, type Terminal } from './terminal.ts';

const terminal: Terminal = { stdout: { write: () => true }, stderr: { write: () => true }, env: {}, cwd: '/' };

describe('the commands', () => {
  it('are those of the routes, and docs/reference/cli.md describes them: `npm run docs` writes both', async () => {
    for (const [name, text] of Object.entries(writeDefinitions())) {
      expect(readFileSync(new URL(name, definitionsUrl), 'utf8'), name).toBe(text);
    }
    expect(readFileSync(pageUrl, 'utf8')).toBe(await describeCommands());
  });

  it('have help that names each option once', () => {
    const check = (command: Command): void => {
      const names = command.options.flatMap(({ long }) => long ?? []);
      expect(names, command.name()).toEqual([...new Set(names)]);
      expect(command.description(), command.name()).not.toBe('');
      command.commands.forEach(check);
    };
    check(createProgram(terminal, resourceCommands, () => {}));
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
