import { describe, expect, it } from 'vitest';
import { refused, writeTo } from '../../../tests/wires/write-to.ts';
import type { Tool } from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { writeRequest } from './request.ts';

const write = writeTo(writeRequest, { upstreamModel: 'gemini-2.5-flash' });

const tool = (fields: object = {}): Tool => ({ type: 'function', name: 'f', parameters: null, ...fields }) as Tool;

describe('tools', () => {
  const parameters = { type: 'object', properties: { x: { type: ['string', 'null'] } }, additionalProperties: false };

  it('are declared with JSON Schema, or in the subset of OpenAPI', () => {
    const tools = [tool({ description: 'Does.', parameters, strict: true }), tool({ name: 'g' })];
    const { body, dropped } = write({ tools });
    expect(body.tools).toEqual([
      { functionDeclarations: [{ name: 'f', description: 'Does.', parametersJsonSchema: parameters }, { name: 'g' }] },
    ]);
    expect(dropped).toEqual(['tools.f.strict']);
    expect(write({ tools }, { dialect: { schema: 'openapi' } }).body.tools).toMatchObject([
      {
        functionDeclarations: [
          { parameters: { type: 'object', properties: { x: { type: 'string', nullable: true } } } },
          {},
        ],
      },
    ]);
  });

  it.each<[NonNullable<ResponseRequest['tool_choice']>, object]>([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [
      { type: 'function', name: 'f' },
      { mode: 'ANY', allowedFunctionNames: ['f'] },
    ],
  ])('are chosen: %j', (choice, functionCallingConfig) => {
    expect(write({ tools: [tool()], tool_choice: choice }).body.toolConfig).toEqual({ functionCallingConfig });
  });

  it('without parameters have none in the subset of OpenAPI', () => {
    const tools = [tool({ parameters: { type: 'object', properties: {} } })];
    const { body } = write({ tools }, { dialect: { schema: 'openapi' } });
    expect(body.tools).toEqual([{ functionDeclarations: [{ name: 'f' }] }]);
  });

  const search: Tool = { type: 'web_search' };
  const allowed = (mode: 'auto' | 'required', ...types: string[]) => ({
    type: 'allowed_tools' as const,
    mode,
    tools: types.map((type) => (type === 'function' ? { type, name: 'f' } : { type })),
  });
  it.each<[ResponseRequest['tool_choice'], Tool[], string[], string | undefined]>([
    ['none', [search], [], undefined],
    ['none', [search, tool()], ['functionDeclarations'], 'NONE'],
    ['auto', [search], ['googleSearch'], undefined],
    ['required', [search, tool()], ['functionDeclarations', 'googleSearch'], 'ANY'],
    [allowed('auto', 'function'), [search, tool()], ['functionDeclarations'], 'AUTO'],
    [allowed('auto', 'web_search'), [search, tool()], ['googleSearch'], undefined],
    [allowed('required', 'web_search', 'function'), [search, tool()], ['functionDeclarations', 'googleSearch'], 'ANY'],
  ])('are chosen together with a search: %j', (choice, tools, kinds, mode) => {
    const { body, dropped, readerContext } = write({ tools, ...(choice && { tool_choice: choice }) });
    expect(((body.tools ?? []) as object[]).flatMap((entry) => Object.keys(entry))).toEqual(kinds);
    expect(readerContext.searches ?? false).toBe(kinds.includes('googleSearch'));
    expect(body.toolConfig).toEqual(mode && { functionCallingConfig: { mode } });
    expect(dropped).toEqual([]);
  });

  it.each<[NonNullable<ResponseRequest['tool_choice']>, Tool[]]>([
    ['required', [search]],
    [{ type: 'web_search_preview' }, [search, tool()]],
    [allowed('required', 'web_search'), [search, tool()]],
  ])('cannot force a search: %j', (choice, tools) => {
    expect(() => write({ tools, tool_choice: choice })).toThrow(refused('tool_choice'));
  });

  it.each([
    ['filters.allowed_domains', { filters: { allowed_domains: ['a.example'] } }],
    ['filters.blocked_domains', { filters: { blocked_domains: ['a.example'] } }],
    ['filters.excluded_domains', { filters: { excluded_domains: ['a.example'] } }],
    ['excluded_domains', { excluded_domains: ['a.example'] }],
  ])('never search where a caller forbids it: %s', (path, fields) => {
    expect(() => write({ tools: [{ ...search, ...fields } as Tool] })).toThrow(refused(`tools[0].${path}`));
  });

  it('name settings that the search does not have', () => {
    const fields = { engine: 'exa', max_results: 3, filters: { allowed_domains: [], near: 'b' } };
    expect(write({ tools: [{ ...search, ...fields } as Tool] }).dropped).toEqual([
      'tools[0].max_results',
      'tools[0].filters.near',
      'tools[0].engine',
    ]);
    expect(write({ tools: [{ ...search, engine: 'native', filters: null } as Tool] }).dropped).toEqual([]);
  });

  it('search the web at the provider, everywhere', () => {
    const { body, readerContext } = write({ tools: [tool(), { type: 'web_search' }] });
    expect(body.tools).toMatchObject([{ functionDeclarations: [{}] }, { googleSearch: {} }]);
    expect(readerContext.searches).toBe(true);
    const limited: Tool = { type: 'web_search', filters: { allowed_domains: ['a.example'] } };
    expect(() => write({ tools: [limited] })).toThrow(refused('tools[0].filters.allowed_domains'));
    expect(write({ tools: [{ type: 'web_search' }] }, { dialect: { native_search: false } }).dropped).toEqual([
      'tools[0] (web_search)',
    ]);
    expect(write({ tools: [{ type: 'mcp' }] }).dropped).toEqual(['tools[0] (mcp)']);
  });
});
