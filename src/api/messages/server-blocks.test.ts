import { describe, expect, it } from 'vitest';
import type { OutputItem } from '../../domain/items.ts';
import { serverNames } from '../../requests/messages/server-names.ts';
import { writeMessagesInput } from '../../requests/messages/write-input.ts';
import { writeServerBlocks } from './server-blocks.ts';

const page = { url: 'https://a.example/', title: 'A', content: 'Pumps heat.', httpStatus: 200 };
const edit = { filePath: '/a.txt', result: 'one', container_id: 'c1' };
const action = { commands: ['ls'] };
const output = [{ stdout: 'a', stderr: 'b', outcome: { type: 'exit', exit_code: 2 } }];
const items: Record<string, OutputItem[]> = {
  'router:web_fetch': [
    { type: 'router:web_fetch', id: 'wf_1', status: 'completed', ...page },
    { type: 'router:web_fetch', id: 'wf_2', status: 'completed', url: page.url, error: 'It is gone.' },
  ],
  'router:code_interpreter': [
    {
      type: 'router:code_interpreter',
      id: 'ci_1',
      status: 'completed',
      code: '1',
      stdout: '1',
      stderr: '',
      exitCode: 0,
    },
  ],
  'router:bash': [
    { type: 'router:bash', id: 'b_1', status: 'completed', command: 'ls', stdout: 'a', stderr: 'b', exitCode: 2 },
    { type: 'router:bash', id: 'b_2', status: 'failed', command: 'ls', error: 'There is no room.' },
  ],
  'router:shell': [{ type: 'router:shell', id: 'sh_1', status: 'completed', action, output }],
  'router:text_editor': (['view', 'create', 'str_replace', 'insert'] as const).map((command) => ({
    type: 'router:text_editor',
    id: `te_${command}`,
    status: 'completed',
    command,
    ...edit,
  })),
};

/** The types of results in the content of a second block. */
const known = new Set([
  'web_fetch_result',
  'web_fetch_tool_result_error',
  'code_execution_result',
  'bash_code_execution_result',
  'bash_code_execution_tool_result_error',
  'text_editor_code_execution_view_result',
  'text_editor_code_execution_create_result',
  'text_editor_code_execution_str_replace_result',
]);

describe.each(Object.entries(items))('%s', (type, all) => {
  it.each(all)('is a call of a known tool that is read back: %j', (item) => {
    const [call, result] = writeServerBlocks(item);
    expect(call).toMatchObject({ type: 'server_tool_use', name: serverNames.get(type) });
    expect(result).toMatchObject({ type: `${String(call!['name'])}_tool_result`, tool_use_id: call!['id'] });
    expect(known).toContain((result!['content'] as { type: string }).type);
    const written = writeMessagesInput({ messages: [{ role: 'assistant', content: [call!, result!] }] } as never);
    expect(written).toEqual([item]);
  });
});

it('joins the outputs of a shell, with the return code of the last command', () => {
  const [, result] = writeServerBlocks(items['router:shell']![0]!);
  expect(result!['content']).toEqual({
    type: 'bash_code_execution_result',
    stdout: 'a',
    stderr: 'b',
    return_code: 2,
    content: [],
  });
});

it('is not read from a call of another tool', () => {
  const [call, result] = writeServerBlocks(items['router:bash']![0]!);
  const messages = [
    { role: 'assistant', content: [{ ...call!, name: 'web_fetch' }, result!, { type: 'text', text: 'a' }] },
  ];
  expect(writeMessagesInput({ messages } as never).some(({ type }) => type === 'router:bash')).toBe(false);
});
