import { isObject } from '../../schema/by-kind.ts';

type Fields = Record<string, unknown>;

/**
 * Moves fields that clients of other gateways and servers send, and that a body may have without an error, to their place in this
 * API. Works in place, and a second time changes nothing. Fields of this API take precedence.
 *
 * @see docs/reference/chat-completions.md#habits-of-clients
 */
export function settleHabits(body: Fields): void {
  spreadExtraBody(body);
  settleReasoning(body);
  settleSchema(body);
  if (Array.isArray(body['messages']))
    body['messages'] = body['messages'].map((message) => settleMark(settleThoughts(message)));
}

/** Python clients merge `extra_body` into the body. Those in other languages send it as it is. */
function spreadExtraBody(body: Fields): void {
  const { extra_body: extra } = body;
  if (!isObject(extra)) return;
  delete body['extra_body'];
  for (const [key, value] of Object.entries(extra)) if (!Object.hasOwn(body, key)) body[key] = value;
}

/**
 * Reads the switches of reasoning of other APIs: `thinking` (Anthropic, Z.ai, DeepSeek, Kimi), `enable_thinking` and `thinking_budget`
 * (Qwen), `chat_template_kwargs` (vLLM, SGLang) and `google.thinking_config` (Gemini).
 */
function settleReasoning(body: Fields): void {
  const { reasoning, reasoning_effort: effort, thinking, google, chat_template_kwargs: template } = body;
  if ((reasoning ?? effort ?? undefined) !== undefined) return;
  const found: { enabled?: boolean; max_tokens?: number } = {};
  const take = (isOn: unknown, budget: unknown): boolean => {
    if (isOn === false || budget === 0) found.enabled = false;
    else if (Number.isInteger(budget) && (budget as number) > 0) found.max_tokens = budget as number;
    else if (isOn === true) found.enabled = true;
    else return false;
    return true;
  };
  if (isObject(thinking)) {
    const { type, budget_tokens: budget } = thinking;
    const isOn = type === 'disabled' ? false : type === 'enabled' || type === 'adaptive' ? true : undefined;
    if (isOn !== undefined && take(isOn, isOn ? budget : undefined)) delete body['thinking'];
  } else if (isObject(google) && isObject(google['thinking_config'])) {
    const { thinking_config: config, ...rest } = google;
    const { thinking_budget: budget, include_thoughts: isShown } = config as Fields;
    if (take(isShown === true ? true : undefined, budget)) {
      if (Object.keys(rest).length > 0) body['google'] = rest;
      else delete body['google'];
    }
  } else if (typeof body['enable_thinking'] === 'boolean' || body['thinking_budget'] !== undefined) {
    if (take(body['enable_thinking'], body['enable_thinking'] === false ? undefined : body['thinking_budget'])) {
      delete body['enable_thinking'];
      delete body['thinking_budget'];
    }
  } else if (isObject(template)) {
    const { enable_thinking: isOn, ...rest } = template;
    if (take(isOn, undefined)) {
      if (Object.keys(rest).length > 0) body['chat_template_kwargs'] = rest;
      else delete body['chat_template_kwargs'];
    }
  }
  if (Object.keys(found).length > 0) body['reasoning'] = found;
}

/** llama.cpp, Together and Fireworks take a schema beside `json_object`. */
function settleSchema(body: Fields): void {
  const { response_format: format } = body;
  if (!isObject(format) || format['type'] !== 'json_object' || !isObject(format['schema'])) return;
  body['response_format'] = { type: 'json_schema', json_schema: { name: 'response', schema: format['schema'] } };
}

/**
 * Moves blocks of thinking of Claude from the content to `thinking_blocks`: openai/openai-agents-python#1779. Some clients have them in
 * both places.
 */
function settleThoughts(message: unknown): unknown {
  if (!isObject(message) || message['role'] !== 'assistant' || !Array.isArray(message['content'])) return message;
  const { content, thinking_blocks: blocks, ...rest } = message;
  const thoughts = (content as unknown[]).filter(isThought);
  if (thoughts.length === 0) return message;
  const others = (content as unknown[]).filter((part) => !isThought(part));
  return { ...rest, content: others.length > 0 ? others : null, thinking_blocks: blocks ?? thoughts };
}

/** Mistral has a list in `thinking`. */
const isThought = (part: unknown): boolean =>
  isObject(part) &&
  (part['type'] === 'redacted_thinking' || (part['type'] === 'thinking' && typeof part['thinking'] === 'string'));

/** Moves a cache mark of a whole message, as LiteLLM takes it, to its last text. */
function settleMark(message: unknown): unknown {
  if (!isObject(message) || !isObject(message['cache_control'])) return message;
  const { cache_control: mark, ...rest } = message;
  const { content } = rest;
  if (typeof content === 'string' && content !== '')
    return { ...rest, content: [{ type: 'text', text: content, cache_control: mark }] };
  if (!Array.isArray(content)) return message;
  const at = content.findLastIndex((part) => isObject(part) && part['type'] === 'text');
  if (at === -1) return message;
  const marked = { cache_control: mark, ...(content[at] as Fields) };
  return { ...rest, content: content.with(at, marked) };
}
