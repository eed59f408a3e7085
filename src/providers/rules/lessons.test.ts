import { describe, expect, it, vi } from 'vitest';
import { lessonAbout, Lessons, readLesson, readRoomLesson } from './lessons.ts';
import { EndpointSettings } from './resolve.ts';

describe('a limit of the output that is too high', () => {
  it.each([
    ['max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-x', 64_000],
    [
      'max_tokens is too large: 40000. This model supports at most 16384 completion tokens, whereas you provided 40000.',
      16_384,
    ],
    [
      'The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.',
      4096,
    ],
    ['Invalid max_tokens value, the valid range of max_tokens is [1, 8192]', 8192],
    ['<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]', 8192],
    ['`max_tokens` must be less than or equal to `16384`', 16_384],
    [
      'The parameter `max_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 393216, but got 943718 instead.',
      393_216,
    ],
    ['max_tokens for `llama-3.1-8b-instant` must be less than or equal to 8000', 8000],
    [
      'Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive).',
      65_536,
    ],
  ])('is one of the endpoint: %s', (message, max) => {
    const lesson = readLesson(message, '')!;
    expect(lesson.settings({})).toEqual({ output: { max } });
    expect(lessonAbout(lesson.name)?.settings({})).toEqual({ output: { max } });
  });

  it.each([
    ['input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length', 21_041],
    [
      "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion).",
      8130,
    ],
    [
      "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 20000 input tokens (32000 > 32768 - 20000).",
      12_768,
    ],
    [
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 7900 `inputs` tokens and 1024 `max_new_tokens`',
      293,
    ],
  ])('has as much room as the input leaves: %s', (message, max) => {
    expect(readRoomLesson(message)).toMatchObject({ isOnce: true });
    expect(readRoomLesson(message)?.settings({})).toEqual({ output: { max } });
  });

  it.each([
    'input length and `max_tokens` exceed context limit: 199990 + 8192 > 200000',
    "This model's maximum context length is 8192 tokens. However, you requested 9500 tokens (9000 in the messages, 500 in the completion).",
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 8202 tokens.",
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 8740 `inputs` tokens and 500',
  ])('but the input does not fit: %s', (message) => {
    expect(readRoomLesson(message)).toBeUndefined();
  });
});

describe('an error that refuses a parameter teaches a rule', () => {
  it.each([
    ["Unsupported parameter: 'seed' is not supported with this model.", '', 'seed'],
    [
      "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
      '',
      'temperature',
    ],
    ['Unrecognized request argument supplied: parallel_tool_calls', '', 'parallel_tool_calls'],
    ["property 'logprobs' is unsupported", '', 'logprobs'],
    ['Argument not supported on this model: presencePenalty', '', 'presence_penalty'],
    ['Argument not supported on this model: presence_penalty', '', 'presence_penalty'],
    [
      "litellm.UnsupportedParamsError: groq does not support parameters: ['parallel_tool_calls'], for model=x",
      '',
      'parallel_tool_calls',
    ],
    ['fireworks_ai does not support parameters: [tool_choice], for model=accounts/x', '', 'tool_choice'],
    ['Unsupported parameter: max_output_tokens', '', 'max_output_tokens'],
    ["Unsupported value: 'tool_choice' does not support 'required' with this model.", '', undefined],
    [
      'Tool call id was toolu_1 but must be a-z, A-Z, 0-9, with a length of 9.',
      '',
      'call ids of nine letters and digits',
    ],
    ['metadata: Extra inputs are not permitted', '', 'metadata'],
    ['body.user: Extra inputs are not permitted', '', 'user'],
    ['`temperature` is deprecated for this model.', '', 'temperature'],
    ['Invalid JSON payload received. Unknown name "frequency_penalty": Cannot find field.', '', 'frequency_penalty'],
    ['unknown field "top_k"', '', 'top_k'],
    ['This value is not supported.', 'service_tier', 'service_tier'],
    ["Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.", '', 'max_tokens'],
    ["Invalid schema for function 'f': keyword 'pattern' is not permitted.", '', 'pattern'],
    ['tools.0.function.strict: Extra inputs are not permitted', '', 'strict'],
    ['context_management: Extra inputs are not permitted', '', 'context_management'],
    ['body -> n\n  Extra inputs are not permitted (type=extra_forbidden)', '', 'n'],
    [
      "[{'type': 'extra_forbidden', 'loc': ('body', 'reasoning_effort'), 'msg': 'Extra inputs are not permitted', 'input': 'high'}]",
      '',
      'reasoning_effort',
    ],
    ['"llama3.1" does not support thinking', '', 'thinking'],
    ['invalid beta flag', '', 'anthropic-beta'],
    ['messages.0.content.0.text.cache_control.ephemeral.ttl: Extra inputs are not permitted', '', 'cache_control.ttl'],
    ['system.2.cache_control.ephemeral.scope: Extra inputs are not permitted', '', 'cache_control.scope'],
    ['Failed to initialize samplers: failed to parse grammar', '', 'bounds of schemas'],
  ])('%s (%s): %s', (message, param, name) => {
    expect(readLesson(message, param)?.name).toBe(name);
  });

  it.each([
    'The model does not exist.',
    "Invalid 'messages[1].content': string too long.",
    "Unsupported parameter: 'messages'.",
    "'tools' is not supported with this model.",
    'This model does not support image input.',
    "Invalid value: 'json_schema'.",
    'x'.repeat(100_000),
    // Without these, the provider would keep the contents, or not know the end user.
    'store: Extra inputs are not permitted',
    "Unsupported parameter: 'safety_identifier'",
    // These are about a value or a part of the contents, which another request does not have.
    "Invalid schema for response_format 'x': In context=(), 'seed' is not permitted.",
    "messages[0].metadata: Unknown parameter: 'metadata'.",
    `${'The prompt was: '.repeat(20)}Unsupported parameter: temperature`,
  ])('but not %.60s', (message) => {
    expect(readLesson(message, '')).toBeUndefined();
  });
});

it.each([
  ['temperature must be between 0 and 1', 'temperature', { min: 0, max: 1 }],
  ['`top_p` must be in (0.0, 1.0]', 'top_p', { min: 0.01, max: 1 }],
  ['temperature: range: 0..1', 'temperature', { min: 0, max: 1 }],
  ['body.temperature: Input should be less than or equal to 1', 'temperature', { max: 1 }],
  ['presence_penalty must be >= -2', 'presence_penalty', { min: -2 }],
  ['top_k must be greater than 0', 'top_k', { min: 1 }],
  ['invalid temperature: only 1 is allowed for this model', 'temperature', { values: [1] }],
])('a sentence about numbers bounds them: %s', (message, field, rule) => {
  const lesson = readLesson(message, '')!;
  expect(lesson.isOnce).toBeUndefined();
  expect(lesson.settings({})).toMatchObject({ fields: { [field]: rule } });
  expect(lessonAbout(lesson.name)?.settings({})).toEqual(lesson.settings({}));
});

it.each([
  ["Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64.", '', 'prompt_cache_key'],
  ['Invalid value.', 'service_tier', 'service_tier'],
])('a value that a server refuses is left out of one request: %s (%s)', (message, param, name) => {
  expect(readLesson(message, param)).toMatchObject({ name, isOnce: true });
});

describe('the lessons of an endpoint', () => {
  const settings = () => new EndpointSettings({ provider: 'acme', host: undefined }, {});
  const lesson = readLesson("Unsupported parameter: 'seed'", '')!;
  const keyword = (name: string) => readLesson(`keyword '${name}' is not permitted`, '')!;

  it('change its settings, and no others', () => {
    const all = settings();
    const before = all.of('openai-chat', 'one');
    expect(all.learn('openai-chat', 'one', lesson)).toMatchObject({ name: 'seed' });
    expect(all.of('openai-chat', 'one')).toMatchObject({ fields: { seed: { send: false } } });
    expect(all.of('openai-chat', 'one')).toBe(all.of('openai-chat', 'one'));
    expect(all.of('openai-chat', 'two')).toEqual(before);
    expect(all.of('openai-responses', 'one')).not.toMatchObject({ fields: { seed: { send: false } } });
  });

  it('are those of now, after older ones were forgotten', () => {
    vi.useFakeTimers();
    try {
      const all = settings();
      all.learn('openai-chat', 'one', lesson);
      all.of('openai-chat', 'one');
      vi.advanceTimersByTime(25 * 3_600_000);
      all.learn('openai-chat', 'one', readLesson("Unsupported parameter: 'top_k'", '')!);
      const { fields } = all.of('openai-chat', 'one') as { fields: object };
      expect(fields).toMatchObject({ top_k: { send: false } });
      expect(fields).not.toMatchObject({ seed: { send: false } });
    } finally {
      vi.useRealTimers();
    }
  });

  it('are learned once', () => {
    const all = settings();
    expect(all.learn('openai-chat', 'one', lesson)).toBeDefined();
    expect(all.learn('openai-chat', 'one', lesson)).toBeUndefined();
  });

  it('add keywords to those that the rules name', () => {
    const all = settings();
    all.learn('openai-chat', 'one', keyword('pattern'));
    all.learn('openai-chat', 'one', keyword('minLength'));
    const { schemas } = all.of('openai-chat', 'one') as { schemas: { drop: string[] } };
    expect(schemas.drop).toEqual(expect.arrayContaining(['pattern', 'minLength']));
  });

  it('name the features of a header that a server names', () => {
    const all = settings();
    const says = 'Unexpected value(s) `a-2026-01-05`, `b.1` for the `anthropic-beta` header. Please consult our docs.';
    all.learn('anthropic-messages', 'one', readLesson(says, '')!);
    expect(all.of('anthropic-messages', 'one')).toMatchObject({ client_betas: { without: ['a-2026-01-05', 'b.1'] } });
  });

  it('are not learned on wires without rules', () => {
    expect(settings().learn('simulator', 'one', lesson)).toBeUndefined();
  });

  it('are forgotten after a day', () => {
    let now = 0;
    const lessons = new Lessons(() => now);
    const learned = { wire: 'w', model: 'm', name: 'seed', settings: {} };
    expect(lessons.add(learned)).toBe(true);
    now = 23 * 3_600_000;
    expect(lessons.of('w', 'm')).toHaveLength(1);
    expect(lessons.add(learned)).toBe(false);
    now = 25 * 3_600_000;
    expect(lessons.of('w', 'm')).toHaveLength(0);
    expect(lessons.add(learned)).toBe(true);
  });
});

it('a list of efforts with other words is about one request', () => {
  expect(readLesson('`reasoning_effort` must be one of `none` or `default`', '')).toMatchObject({
    name: 'reasoning_effort',
    isOnce: true,
  });
  const name = 'efforts low, medium, high';
  expect(
    readLesson(
      "'reasoning.effort' does not support 'none' with this model. Supported values are: 'low', 'medium', and 'high'.",
      '',
    ),
  ).toMatchObject({ name });
  expect(lessonAbout(name)?.settings({})).toEqual({ efforts: ['low', 'medium', 'high'] });
});

it('a list of efforts replaces the one word that the rules have for them', () => {
  const lesson = readLesson('`reasoning_effort` must be one of `low`, `medium`, or `high`', '')!;
  const efforts = ['low', 'medium', 'high'];
  expect(lesson.settings({ reasoning_rules: { on: { reasoning_effort: 'default' } } })).toEqual({
    efforts,
    reasoning_rules: { on: {}, keep_effort: true },
  });
  expect(lesson.settings({ reasoning_rules: { on: { enable_thinking: true } } })).toEqual({ efforts });
});

it('a value of `include` that a model refuses is left out, and the others stay', () => {
  const lesson = readLesson('Encrypted content is not supported with this model.', 'include')!;
  expect(lesson.settings({})).toEqual({ fields: { include: { without: ['reasoning.encrypted_content'] } } });
  expect(lessonAbout(lesson.name)?.settings({})).toEqual(lesson.settings({}));
});
