import { describe, expect, it } from 'vitest';
import { Lessons, readLesson } from './lessons.ts';
import { EndpointSettings } from './resolve.ts';

describe('an error that refuses a parameter teaches a rule', () => {
  it.each([
    ["Unsupported parameter: 'seed' is not supported with this model.", '', 'seed'],
    ["Unsupported value: 'temperature' does not support 0.7 with this model.", '', 'temperature'],
    ['Unrecognized request argument supplied: parallel_tool_calls', '', 'parallel_tool_calls'],
    ["property 'logprobs' is unsupported", '', 'logprobs'],
    ['Argument not supported on this model: presencePenalty', '', undefined],
    ['Argument not supported on this model: presence_penalty', '', 'presence_penalty'],
    ['store: Extra inputs are not permitted', '', 'store'],
    ['body.safety_identifier: Extra inputs are not permitted', '', 'safety_identifier'],
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
