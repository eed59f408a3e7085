import { expect, it } from 'vitest';
import { dropPaths } from './fit/paths.ts';
import { readRefusedPath } from './refused-path.ts';

it.each([
  ['tools.0.custom.input_examples: Extra inputs are not permitted', 'tools.*.custom.input_examples'],
  ['thinking.enabled.display: Extra inputs are not permitted', 'thinking.enabled.display'],
  ["Unknown parameter: 'input[4].action.query'.", 'input.*.action.query'],
  ["('messages.1' : property 'refusal' is unsupported)", 'messages.*.refusal'],
  [
    'body.messages.0.user.content.list[text].0.annotations: Extra inputs are not permitted',
    'messages.*.user.content.list[text].*.annotations',
  ],
  [
    "[{'type': 'extra_forbidden', 'loc': ('body', 'messages', 0, 'audio'), 'msg': 'Extra inputs are not permitted'}]",
    'messages.*.audio',
  ],
  [
    'Unknown name "behavior" at \'tools[0].function_declarations[0]\': Cannot find',
    'tools.*.function_declarations.*.behavior',
  ],
])('the path of a field that a server does not know: %s', (message, path) => {
  expect(readRefusedPath(message)).toBe(path);
});

it.each(['tools.0.search_content_types', 'tools[0].search_content_types'])('the path beside the words: %s', (param) => {
  const words = 'This object contains an unsupported field.';
  expect(readRefusedPath(words, param)).toBe('tools.*.search_content_types');
  expect(readRefusedPath('This object is too large.', param)).toBeUndefined();
  expect(readRefusedPath(words, 'input[0].content')).toBeUndefined();
  expect(readRefusedPath(words, 'store')).toBeUndefined();
});

it.each([
  'temperature: Extra inputs are not permitted',
  'messages.1.content.0.text: Extra inputs are not permitted',
  "Unknown parameter: 'input[0].content'.",
  'tools.0.custom.input_schema.properties.a: Extra inputs are not permitted',
  'Unknown name "const" at \'tools[0].function_declarations[5].parameters.properties[8].value\': Cannot find field.',
  'store.a: is missing',
])('is none that a request needs: %s', (message) => {
  expect(readRefusedPath(message)).toBeUndefined();
});

it('is left out everywhere, without a change of what others share', () => {
  const tool = { name: 'f', input_examples: [1] };
  const message = { role: 'user', content: [{ type: 'text', text: 'Hi', annotations: [] }] };
  const body: Record<string, unknown> = { tools: [tool, { name: 'g' }], messages: [message], labels: {} };
  const notes = { dropped: [] as string[], adapted: new Set<string>() };
  const paths = ['tools.*.custom.input_examples', 'messages.*.user.content.list[text].*.annotations', 'labels', 'a.b'];
  dropPaths(body, paths, notes);
  expect(body).toEqual({
    tools: [{ name: 'f' }, { name: 'g' }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  });
  expect(notes.dropped).toEqual(paths.slice(0, 3));
  expect(tool).toHaveProperty('input_examples');
  expect(message.content[0]).toHaveProperty('annotations');
});
