import type { FieldNames } from '../path-notes.ts';

/** The names of the Gemini API. */
export const geminiNames: FieldNames = {
  members: new Map([
    ['.call_id', '.functionResponse.id'],
    ['.output', '.functionResponse.response'],
    ['.arguments', '.functionCall.args'],
    ['.image_url', '.inlineData'],
    ['.file_data', '.inlineData'],
    ['.file_url', '.fileData'],
    ['.video_url', '.fileData'],
    ['.filename', '.inlineData.displayName'],
    ['.encrypted_content', '.thoughtSignature'],
  ]),
  words: new Map([
    ['`input`', '`contents`'],
    ['`call_id`', '`id`'],
    ['`max_output_tokens`', '`maxOutputTokens`'],
    ['`tool_choice`', '`toolConfig`'],
    ['`instructions`', '`systemInstruction`'],
  ]),
};
