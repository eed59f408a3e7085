import type { FieldNames } from '../path-notes.ts';

/** The names of the Messages API. */
export const messageNames: FieldNames = {
  members: new Map([
    ['.call_id', '.tool_use_id'],
    ['.output', '.content'],
    ['.arguments', '.input'],
    ['.image_url', '.source'],
    ['.file_data', '.source'],
    ['.file_url', '.source'],
    ['.file_id', '.source'],
    ['.filename', '.title'],
    ['.parameters', '.input_schema'],
    ['.server_url', '.url'],
  ]),
  words: new Map([
    ['`input`', '`messages`'],
    ['`call_id`', '`tool_use_id`'],
    ['`parameters`', '`input_schema`'],
    ['`max_output_tokens`', '`max_tokens`'],
  ]),
};
