import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../domain/errors.ts';
import { checkMeaning } from './check-meaning.ts';
import { readRequest } from './request.ts';

const user = { role: 'user', content: 'hi' };
const tool = (name: string, fields: object = {}) => ({ type: 'function', name, parameters: null, ...fields });

/** The paths of what cannot be meant; empty when the request can. */
function paths(fields: object): string[] {
  const { request } = readRequest({ model: 'acme/mock', input: 'hi', ...fields }, {});
  try {
    checkMeaning(request);
    return [];
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    expect(error).toMatchObject({ kind: 'unprocessable', status: 422, errorType: 'unprocessable' });
    return (error.metadata.issues as { path: string }[]).map((issue) => issue.path);
  }
}

describe('tool_choice that names a tool', () => {
  const group = { type: 'namespace', name: 'crm', description: '', tools: [{ type: 'function', name: 'find' }] };

  it.each<[string, object, object[]]>([
    ['a function', { type: 'function', name: 'f' }, [tool('f')]],
    ['a custom tool', { type: 'custom', name: 'c' }, [{ type: 'custom', name: 'c' }]],
    ['a function of a namespace', { type: 'function', name: 'find' }, [group]],
    ['a function of a namespace with the name of its group', { type: 'function', name: 'crm__find' }, [group]],
    ['a hosted search of any kind', { type: 'web_search_preview' }, [{ type: 'web_search' }]],
    ['the shell', { type: 'shell' }, [{ type: 'local_shell' }]],
    ['the prefixed patch tool', { type: 'apply_patch' }, [{ type: 'router:apply_patch' }]],
    ['a server tool', { type: 'router:datetime' }, [{ type: 'router:datetime' }]],
  ])('may name %s that is in tools', (_, tool_choice, tools) => {
    expect(paths({ tool_choice, tools })).toEqual([]);
  });

  it.each<[string, object, object[]]>([
    ['name', { type: 'function', name: 'g' }, [tool('f')]],
    ['name', { type: 'function', name: 'f' }, []],
    ['name', { type: 'custom', name: 'f' }, [tool('f')]],
    ['type', { type: 'web_search_preview' }, [tool('web_search_preview')]],
    ['type', { type: 'apply_patch' }, [{ type: 'shell' }]],
    ['type', { type: 'router:datetime' }, [{ type: 'router:web_search' }]],
  ])('answers 422 at %s for %j', (field, tool_choice, tools) => {
    expect(paths({ tool_choice, tools })).toEqual([`tool_choice.${field}`]);
  });

  it('may name a tool of an additional_tools item', () => {
    const input = [user, { type: 'additional_tools', role: 'developer', tools: [tool('late')] }];
    expect(paths({ input, tool_choice: { type: 'function', name: 'late' } })).toEqual([]);
  });

  it('may name the tool that a plugin adds, unless the plugin is off', () => {
    const tool_choice = { type: 'router:fusion' };
    expect(paths({ tool_choice, plugins: [{ id: 'fusion' }] })).toEqual([]);
    expect(paths({ tool_choice, plugins: [{ id: 'fusion', enabled: false }] })).toEqual(['tool_choice.type']);
  });

  it('checks each entry of allowed_tools', () => {
    const choice = (...tools: object[]) => ({ type: 'allowed_tools', mode: 'auto', tools });
    const tools = [tool('f'), { type: 'mcp', server_label: 's', server_url: 'x' }, { type: 'image_generation' }];
    const named = [{ type: 'function', name: 'f' }, { type: 'mcp', server_label: 's' }, { type: 'image_generation' }];
    expect(paths({ tools, tool_choice: choice(...named) })).toEqual([]);
    expect(paths({ tools, tool_choice: choice(...named, { type: 'function', name: 'g' }, { type: 'shell' }) })).toEqual(
      ['tool_choice.tools[3].name', 'tool_choice.tools[4].type'],
    );
  });

  it.each(['auto', 'none', 'required', undefined])('has nothing to check in %s', (tool_choice) => {
    expect(paths({ tool_choice })).toEqual([]);
  });

  it('says what was named and what to do', () => {
    const { request } = readRequest({ model: 'm', input: 'hi', tool_choice: { type: 'function', name: 'g' } }, {});
    expect(() => checkMeaning(request)).toThrow(
      'tool_choice.name: `tool_choice` names the function tool "g", which is not in `tools`; add it there or choose another.',
    );
  });
});

describe('outputs of client tools', () => {
  const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}', async: true };
  const custom = { type: 'custom_tool_call', call_id: 'b', name: 'c', input: '' };
  const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'x' });
  const customOutput = (call_id: string) => ({ type: 'custom_tool_call_output', call_id, output: 'x' });

  it('belong to a call of the same input, of either kind and in any order', () => {
    expect(paths({ input: [user, call, custom, user, output('a'), customOutput('b')] })).toEqual([]);
    expect(paths({ input: [custom, output('b')] })).toEqual([]);
    expect(paths({ input: [output('a'), call] })).toEqual([]);
  });

  it('answer 422 without their call', () => {
    expect(paths({ input: [user, call, output('z'), customOutput('y'), output('a')] })).toEqual([
      'input[2].call_id',
      'input[3].call_id',
    ]);
    expect(paths({ input: [user, output('a')] })).toEqual(['input[1].call_id']);
  });

  it('pass beside a reference, which may stand for the call', () => {
    expect(paths({ input: [{ type: 'item_reference', id: 'fc_1' }, output('a')] })).toEqual([]);
  });

  it('may be missing: the upstream decides on an open call', () => {
    expect(paths({ input: [user, call] })).toEqual([]);
  });
});

describe('defer_loading', () => {
  const deferred = tool('late', { defer_loading: true });

  it('on all tools answers 422', () => {
    expect(paths({ tools: [deferred] })).toEqual(['tools']);
    const group = { type: 'namespace', name: 'n', description: '', tools: [deferred] };
    expect(paths({ tools: [deferred, group] })).toEqual(['tools']);
  });

  it('may be on all but the search tool, which counts as a tool that stays', () => {
    expect(paths({ tools: [deferred, { type: 'router:tool_search' }] })).toEqual([]);
    expect(paths({ tools: [] })).toEqual([]);
  });
});
