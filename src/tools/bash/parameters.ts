import { Type } from 'typebox';
import { oneOf } from '../../schema/shapes.ts';
import { containerParameters } from '../container-calls/environment.ts';
import { MAX_COMMAND_LENGTH, MAX_COMMANDS } from '../container-calls/run-commands.ts';

const closed = { additionalProperties: false };

/** `parameters` of `router:bash`. */
export const bashParameters = Type.Object(
  { engine: Type.Optional(oneOf('auto', 'native', 'router')), ...containerParameters },
  closed,
);

/** The arguments of its calls. */
export const bashArguments = Type.Object(
  {
    command: Type.Optional(
      Type.String({ description: 'The command to run.', maxLength: MAX_COMMAND_LENGTH, examples: ['ls -la'] }),
    ),
    commands: Type.Optional(
      Type.Array(Type.String({ maxLength: MAX_COMMAND_LENGTH, examples: ['pwd'] }), {
        description: 'Further commands, which run in order.',
        maxItems: MAX_COMMANDS,
      }),
    ),
    restart: Type.Optional(
      Type.Boolean({ description: 'Starts over with an empty container, before the commands run.', examples: [false] }),
    ),
    timeout_ms: Type.Optional(
      Type.Integer({
        description: 'Time limit of all commands in milliseconds. Default 120000, at most 300000.',
        examples: [120_000],
      }),
    ),
    max_output_length: Type.Optional(
      Type.Integer({
        description: 'Characters of each output of a command that are kept. Default 16384, at most 65536.',
        examples: [16_384],
      }),
    ),
  },
  closed,
);
