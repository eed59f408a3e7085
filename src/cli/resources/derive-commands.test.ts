import { Type } from 'typebox';
import { expect, it } from 'vitest';
import { deriveCommands } from '../../../scripts/commands/derive-commands.ts';
import { routesOf } from '../../http/define-route.ts';

const route = routesOf<never>({ base: '/api/v1', tag: 'Workspaces', permission: 'management' });
const handle = async () => ({ data: [], total_count: 0 });
const item = Type.Object({
  id: Type.String(),
  name: Type.String(),
  colors: Type.Array(Type.String()),
  size: Type.Number(),
});
const list = { description: '', schema: Type.Object({ data: Type.Array(item), total_count: Type.Integer() }) };
const fields = Type.Object({
  name: Type.String(),
  size: Type.Union([Type.Integer({ minimum: 1, maximum: 9 }), Type.Null()]),
  shape: Type.Optional(Type.Unsafe<string>({ enum: ['round', 'flat'] })),
  colors: Type.Optional(Type.Array(Type.String())),
  parts: Type.Optional(Type.Object({ a: Type.Number() })),
  config: Type.Optional(Type.String()),
  is_big: Type.Optional(Type.Boolean()),
});
const offset = { description: 'Rows to skip.', schema: Type.Integer() };

it('derives the commands of a resource from its routes alone', () => {
  const { groups, commands } = deriveCommands({
    management: [
      route('GET', '/widgets', {
        id: 'listWidgets',
        summary: 'List the widgets',
        query: { offset },
        response: list,
        handle,
      }),
      route('POST', '/widgets', {
        id: 'makeWidget',
        summary: 'Create a widget',
        body: { schema: fields },
        response: list,
        handle,
      }),
      route('GET', '/widgets/:id', { id: 'findWidget', summary: 'Find a widget', response: list, handle }),
      route('POST', '/widgets/:id/paint', { id: 'paintWidget', summary: 'Paint a widget', response: list, handle }),
      route('DELETE', '/widgets/:id/parts/:part_id', {
        id: 'deletePart',
        summary: 'Delete a part',
        response: list,
        handle,
      }),
    ] as never,
  });
  expect(commands.map(({ name, params }) => [name, ...params.map(({ label }) => label)])).toEqual([
    ['widgets list'],
    ['widgets create'],
    ['widgets show', 'widget'],
    ['widgets paint', 'widget'],
    ['widgets parts delete', 'widget', 'part'],
  ]);
  expect(Object.keys(groups)).toEqual(['widgets', 'widgets parts']);
  expect(commands[0]).toMatchObject({ columns: ['name', 'id', 'size'], paging: { next: 'offset' } });
  expect(commands[2]!.params).toMatchObject([{ name: 'id', help: 'its id or name', of: 'listWidgets' }]);
  expect(commands[1]!.options.map(({ flags, help, isRequired }) => [flags, help, isRequired])).toEqual([
    ['--name <text>', 'display name', true],
    ['--size <number>', 'size, 1 to 9, or none', true],
    ['--shape <word>', 'shape: round or flat', undefined],
    ['--colors <value...>', 'colors', undefined],
    ['--parts <json>', 'parts', undefined],
    ['--widget-config <text>', 'settings of requests, as in the API', undefined], // another option has the name
    ['--is-big', 'is big', undefined],
  ]);
});
