import { Type } from 'typebox';
import { containerParameters } from '../container-calls/environment.ts';

const closed = { additionalProperties: false };

/** `parameters` of `router:code_interpreter`. */
export const codeInterpreterParameters = Type.Object(containerParameters, closed);

/** Maximum characters of a program. It is in a variable of a process, whose size the system limits. */
const MAX_CODE_LENGTH = 24_000;

/** The arguments of its calls. */
export const codeInterpreterArguments = Type.Object(
  {
    code: Type.String({ description: 'The program.', maxLength: MAX_CODE_LENGTH, examples: ['print(6 * 7)'] }),
    language: Type.Optional(
      Type.Enum(['python', 'javascript'], { description: 'The language of the program. Default: python.' }),
    ),
  },
  closed,
);
