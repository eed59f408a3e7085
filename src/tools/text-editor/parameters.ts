import { Type } from 'typebox';
import { containerParameters } from '../container-calls/environment.ts';

const closed = { additionalProperties: false };

/** `parameters` of `router:text_editor`. */
export const textEditorParameters = Type.Object(containerParameters, closed);

/** Maximum characters of a text that a call writes. */
const MAX_TEXT_LENGTH = 200_000;

const text = (description: string) => Type.Optional(Type.String({ description, maxLength: MAX_TEXT_LENGTH }));

/** The arguments of its calls. */
export const textEditorArguments = Type.Object(
  {
    command: Type.Enum(['view', 'create', 'str_replace', 'insert'], { description: 'What to do.' }),
    path: Type.String({
      description: 'Path of the file, relative to the home folder.',
      minLength: 1,
      maxLength: 1000,
      examples: ['notes.txt'],
    }),
    view_range: Type.Optional(
      Type.Array(Type.Integer(), {
        description: 'With view: the first and the last line, from 1. -1 as the last line means the end of the file.',
        minItems: 2,
        maxItems: 2,
        examples: [[1, 100]],
      }),
    ),
    file_text: text('With create: the text of the file. A file of this path is replaced.'),
    old_str: text('With str_replace: text to replace. It must be in the file exactly once.'),
    new_str: text('With str_replace: the text that replaces it. Absent: the old text is removed.'),
    insert_line: Type.Optional(
      Type.Integer({
        description: 'With insert: the line after which the text is inserted. 0: at the start.',
        minimum: 0,
        examples: [0],
      }),
    ),
    insert_text: text('With insert: the text to insert.'),
  },
  closed,
);
