import { Type } from 'typebox';

/** The arguments of calls of `router:files`. */
export const filesArguments = Type.Object(
  {
    operation: Type.Enum(['list', 'read', 'write', 'edit'], { description: 'What to do.' }),
    filename_filter: Type.Optional(
      Type.String({ description: 'With list: a part of the name. Absent: all files are listed.' }),
    ),
    file_id: Type.Optional(Type.String({ description: 'With read and edit: the id of the file.' })),
    filename: Type.Optional(
      Type.String({
        description:
          'With write: the name of the new file, such as notes/plan.md. With read and edit, instead of file_id: the name of the file. The newest file of this name is used.',
      }),
    ),
    content: Type.Optional(Type.String({ description: 'With write: the text of the file.' })),
    old_string: Type.Optional(
      Type.String({ description: 'With edit: text to replace. It must be in the file exactly once.' }),
    ),
    new_string: Type.Optional(Type.String({ description: 'With edit: the text that replaces it.' })),
    new_filename: Type.Optional(
      Type.String({ description: 'With edit: the name of the copy. Absent: the same name.' }),
    ),
  },
  { additionalProperties: false },
);
