import commandList from './commands.json' with { type: 'json' };
import type { ResourceCommand } from './definition.ts';

/** The commands of all resources. */
export const resourceCommands = commandList as ResourceCommand[];

/** Returns the first command that calls an operation. */
export const findCommand = (id: string): ResourceCommand => resourceCommands.find((command) => command.id === id)!; // `commands.json` has it
