import type { ToolFamily } from './schema/tools.ts';

/** A tool that the client runs, whose arguments only the models of one provider know without a schema. */
export interface ClientTool {
  /** Its name if the client gives none. */
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

const object = (properties: Record<string, unknown>, required: string[]): Record<string, unknown> => ({
  type: 'object',
  properties,
  required,
});

const text = (description: string) => ({ type: 'string', description });
const lines = {
  type: 'array',
  items: { type: 'integer' },
  description: 'The first and the last line, from 1. -1: the end.',
};

/**
 * Schemas of the client tools, for models that do not know them.
 *
 * @see docs/reference/messages.md#tools
 */
export const clientTools: ReadonlyMap<ToolFamily, ClientTool> = new Map<ToolFamily, ClientTool>([
  [
    'bash',
    {
      name: 'bash',
      description: 'Runs a command in a persistent bash session of the user, and returns its output.',
      parameters: object(
        { command: text('The command.'), restart: { type: 'boolean', description: 'Restarts the session.' } },
        [],
      ),
    },
  ],
  [
    'text_editor',
    {
      name: 'str_replace_based_edit_tool',
      description: 'Views, creates and edits text files of the user.',
      parameters: object(
        {
          command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
          path: text('The path of the file or folder.'),
          file_text: text('For `create`: the content of the file.'),
          old_str: text('For `str_replace`: the text to replace. It must occur exactly once.'),
          new_str: text('For `str_replace`: the new text.'),
          insert_line: {
            type: 'integer',
            description: 'For `insert`: the line after which the text goes; 0: the start.',
          },
          insert_text: text('For `insert`: the text.'),
          view_range: { ...lines, description: `For \`view\`: ${lines.description}` },
        },
        ['command', 'path'],
      ),
    },
  ],
  [
    'memory',
    {
      name: 'memory',
      description: 'Reads and writes files under /memories, which the user keeps between conversations.',
      parameters: object(
        {
          command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
          path: text('The path of the file or folder.'),
          file_text: text('For `create`: the content of the file.'),
          old_str: text('For `str_replace`: the text to replace.'),
          new_str: text('For `str_replace`: the new text.'),
          insert_line: { type: 'integer', description: 'For `insert`: the line after which the text goes.' },
          insert_text: text('For `insert`: the text.'),
          old_path: text('For `rename`: the present path.'),
          new_path: text('For `rename`: the new path.'),
          view_range: { ...lines, description: `For \`view\`: ${lines.description}` },
        },
        ['command'],
      ),
    },
  ],
]);
