import { Type } from 'typebox';
import { oneOf } from '../../schema/shapes.ts';
import { containerParameters } from '../container-calls/environment.ts';
import { MAX_COMMAND_LENGTH, MAX_COMMANDS } from '../container-calls/run-commands.ts';

const closed = { additionalProperties: false };

/** `parameters` of `router:shell`. */
export const shellParameters = Type.Object(
  { engine: Type.Optional(oneOf('auto', 'router')), ...containerParameters },
  closed,
);

/** The arguments of its calls. */
export const shellArguments = Type.Object(
  {
    commands: Type.Array(Type.String({ maxLength: MAX_COMMAND_LENGTH, examples: ['ls -la'] }), {
      description: 'Commands for bash, in order. Each one runs in a new shell that starts in the home folder.',
      minItems: 1,
      maxItems: MAX_COMMANDS,
    }),
    timeout_ms: Type.Optional(
      Type.Integer({
        description: 'Time limit of each command in milliseconds. Default 120000, at most 300000.',
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
