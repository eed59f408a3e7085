import { type Static, Type } from 'typebox';
import type { Issue } from '../domain/errors.ts';
import type { OutputItem } from '../domain/items.ts';
import { keepRestrictions } from '../domain/keep-restrictions.ts';
import type { RequestSettings } from '../domain/request.ts';
import type { ResponseObject } from '../domain/response.ts';
import { show } from '../schema/report.ts';
import { reasoningEffort } from '../schema/shapes.ts';

/** `reasoning` of a model that a tool calls. */
export const innerReasoning = Type.Object(
  { effort: Type.Optional(reasoningEffort), max_tokens: Type.Optional(Type.Integer({ documented: { minimum: 1 } })) },
  { additionalProperties: false },
);

const namePattern = /^[A-Za-z0-9 _-]{1,64}$/;

/**
 * The shapes of the parameters of a tool that calls another model, such as an advisor. The pattern applies to the trimmed
 * name. `checkInnerModel` checks the ranges.
 */
export const innerModelParameters = {
  name: Type.Optional(
    Type.Refine(
      Type.String({ documented: { pattern: namePattern.source } }),
      (name) => namePattern.test(name.trim()),
      (name) => `must be 1 to 64 letters, digits, spaces, \`_\` or \`-\`, got ${show(name)}`,
    ),
  ),
  model: Type.Optional(Type.String({ documented: { pattern: '\\S' } })),
  instructions: Type.Optional(Type.String()),
  max_completion_tokens: Type.Optional(Type.Integer({ documented: { minimum: 1 } })),
  reasoning: Type.Optional(innerReasoning),
  temperature: Type.Optional(Type.Number({ documented: { minimum: 0, maximum: 2 } })),
};

const settings = Type.Object(innerModelParameters);
type InnerModelSettings = Static<typeof settings>;

/** Returns values out of their range, with paths below `parameters`. */
export function checkInnerModel(parameters: InnerModelSettings): Issue[] {
  const { model, max_completion_tokens: output = 1, reasoning, temperature = 1 } = parameters;
  const issues: Issue[] = [];
  const add = (path: string, rule: string, value: unknown): void => {
    const field = path.slice(path.lastIndexOf('.') + 1);
    issues.push({ path: `parameters.${path}`, message: `\`${field}\` must ${rule}, got ${show(value)}.` });
  };
  if (model?.trim() === '') add('model', 'be the slug of a model', model);
  if (output < 1) add('max_completion_tokens', 'be 1 or more', output);
  if ((reasoning?.max_tokens ?? 1) < 1) add('reasoning.max_tokens', 'be 1 or more', reasoning?.max_tokens);
  if (temperature < 0 || temperature > 2) add('temperature', 'be from 0 to 2', temperature);
  return issues;
}

/**
 * Returns the preferences of a request among providers for a request of a tool. Another model has other endpoints, so
 * only the restrictions apply to it. choice 560
 *
 * @param outerModel slug of the model that called the tool
 */
export const inheritPreferences = (
  { provider }: RequestSettings,
  model: string,
  outerModel: string,
): Pick<RequestSettings, 'provider'> =>
  provider ? { provider: model === outerModel ? provider : keepRestrictions(provider) } : {};

/**
 * Creates the settings of a request to the model of a tool. It has the preferences of the outer request among providers,
 * and its end user.
 *
 * @param outerModel slug of the model that called the tool
 * @see docs/reference/choices.md, choice 455
 */
export function createInnerSettings(
  { instructions, max_completion_tokens: maxTokens, reasoning, temperature }: InnerModelSettings,
  model: string,
  outer: RequestSettings,
  outerModel: string,
): RequestSettings {
  const { user, safety_identifier } = outer;
  return {
    model,
    ...(instructions !== undefined && { instructions }),
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
    ...(reasoning && { reasoning }),
    ...(temperature !== undefined && { temperature }),
    ...inheritPreferences(outer, model, outerModel),
    ...(user !== undefined && { user }),
    ...(safety_identifier !== undefined && { safety_identifier }),
    plugins: [{ id: 'context-compression' }],
  };
}

/** Between two messages of a response. */
export const MESSAGE_GAP = '\n\n';

/** Returns the text of a response: of all its messages, and its refusals. */
export const readText = ({ output }: ResponseObject): string =>
  output
    .map(readMessage)
    .filter((text) => text !== '')
    .join(MESSAGE_GAP);

function readMessage({ type, content }: OutputItem): string {
  if (type !== 'message' || !Array.isArray(content)) return '';
  return content.map((part: { text?: unknown; refusal?: unknown }) => String(part.text ?? part.refusal ?? '')).join('');
}

/** @returns why a response without a text has none, for the model that called the tool; undefined: it has a text */
export function explainEmpty(response: ResponseObject): string | undefined {
  const { status, error, incomplete_details: details, model } = response;
  if (status === 'failed') return error?.message ?? `${model} failed.`;
  if (readText(response) !== '') return undefined;
  const reason = details ? ` (${details.reason})` : '';
  return `${model} ended without a text${reason}.`;
}
