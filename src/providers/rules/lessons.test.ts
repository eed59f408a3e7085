import { describe, expect, it, vi } from 'vitest';
import { Lessons, readLesson } from './lessons.ts';
import { EndpointSettings } from './resolve.ts';

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
    ['Argument not supported on this model: presencePenalty', '', undefined],
    ['Argument not supported on this model: presence_penalty', '', 'presence_penalty'],
    ['metadata: Extra inputs are not permitted', '', 'metadata'],
    ['body.user: Extra inputs are not permitted', '', 'user'],
    ['`temperature` is deprecated for this model.', '', 'temperature'],
    ['Invalid JSON payload received. Unknown name "frequency_penalty": Cannot find field.', '', 'frequency_penalty'],
    ['unknown field "top_k"', '', 'top_k'],
    ['This value is not supported.', 'service_tier', 'service_tier'],
    ["Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.", '', 'max_tokens'],
    ["Invalid schema for function 'f': keyword 'pattern' is not permitted.", '', 'pattern'],
    ['tools.0.function.strict: Extra inputs are not permitted', '', 'strict'],
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
    'temperature must be between 0 and 1',
    'x'.repeat(100_000),
    // Without these, the provider would keep the contents, or not know the end user.
    'store: Extra inputs are not permitted',
    "Unsupported parameter: 'safety_identifier'",
    // These are about a value or a part of the contents, which another request does not have.
    "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'high'.",
    "Invalid schema for response_format 'x': In context=(), 'seed' is not permitted.",
    "messages[0].metadata: Unknown parameter: 'metadata'.",
    `${'The prompt was: '.repeat(20)}Unsupported parameter: temperature`,
  ])('but not %.60s', (message) => {
    expect(readLesson(message, '')).toBeUndefined();
  });
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
