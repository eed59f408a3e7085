import { addDeployment } from '../../http/azure-paths.ts';
import { parseForm } from '../../http/parse-form.ts';
import { type OpenAIImageOutput, readImageForm, readOpenAIImageBody } from '../../requests/images/openai.ts';
import { readsNumbers } from '../openai-errors.ts';
import type { ImageApi } from './handler.ts';
import { createOpenAIShape } from './openai-shape.ts';

const createApi = (prefix: OpenAIImageOutput['prefix']): ImageApi => ({
  read({ headers }, given) {
    const { body, output } = readOpenAIImageBody(given, prefix);
    return { body, shape: createOpenAIShape(output, { hasNumber: readsNumbers(headers) }) };
  },
  alwaysStreams: true,
  async readForm({ raw, rawBody, headers }) {
    if (!rawBody) return undefined;
    const body = readImageForm(await parseForm(rawBody, headers['content-type']!)); // a form has one
    addDeployment(raw, body);
    return body;
  },
});

/** `POST /images/generations`. @see docs/reference/images.md#the-paths-of-openai */
export const generationApi = createApi('image_generation');
/** `POST /images/edits`, with a form or JSON. */
export const editApi = createApi('image_edit');
