import type { NativeRequest } from '../../domain/native.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { isSet } from '../kit/draft.ts';
import type { ModelTraits } from './models.ts';
import type { MessagesDraft } from './parts.ts';

type Body = Record<string, unknown>;

/**
 * Adds what a client of the same format has sent, unchanged: fields that the request of the gateway cannot express, and
 * the original of those that it can, unless a stage of the gateway has changed them.
 *
 * @see docs/reference/messages.md#the-native-wire
 */
export function writeNative(
  draft: MessagesDraft,
  body: Body,
  request: ResponseRequest,
  { fields, betas, replaces }: NativeRequest,
  traits: ModelTraits,
): void {
  for (const beta of betas) {
    if (draft.dialect.forward_betas) draft.betas.add(beta);
    else draft.dropped.push(`anthropic-beta (${beta})`);
  }
  const { thinking, output_config: output, output_format: format, ...rest } = fields;
  for (const [name, value] of Object.entries(rest)) if (!(name in body)) body[name] = value;
  const keepsReasoning = request.reasoning === replaces.reasoning;
  const keepsText = request.text === replaces.text;
  const { display } = (thinking ?? {}) as { display?: unknown }; // checked by the schema
  if (!keepsReasoning || !isServed(thinking, traits)) {
    if (display && (body.thinking as { type?: string } | undefined)?.type === 'enabled')
      body.thinking = { ...(body.thinking as object), display };
    else if (display) draft.dropped.push('thinking.display');
  } else {
    if (thinking === undefined) delete body.thinking;
    else body.thinking = thinking;
    draft.dropped = draft.dropped.filter((name) => !name.startsWith('reasoning'));
  }
  if (keepsText && format !== undefined) body.output_format = format;
  if (keepsReasoning && keepsText) {
    if (output === undefined) delete body.output_config;
    else body.output_config = isServed(thinking, traits) ? output : withoutEffort(output, traits);
  }
}

/** A model without levels of effort rejects one. It has become the budget. */
function withoutEffort(output: unknown, { efforts }: ModelTraits): unknown {
  if (efforts.length > 0) return output;
  const { effort: _, ...rest } = output as { effort?: unknown }; // checked by the schema
  return Object.keys(rest).length > 0 ? rest : undefined;
}

/** A model that thinks with a budget rejects the adaptive setting. It gets the budget of the same effort. */
const isServed = (thinking: unknown, { thinking: kind }: ModelTraits): boolean =>
  kind === 'adaptive' || (thinking as { type?: string } | undefined)?.type !== 'adaptive';

/** Writes the sampling settings of a client that knows the rules of the format. */
export function writeGivenSampling(body: Body, request: ResponseRequest): void {
  for (const name of ['temperature', 'top_p', 'top_k'] as const) if (isSet(request[name])) body[name] = request[name];
}
