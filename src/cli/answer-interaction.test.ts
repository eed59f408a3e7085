import { expect, it } from 'vitest';
import { answerInteraction, type Interaction } from './answer-interaction.ts';
import { LineReader } from './line-reader.ts';

async function answer(interaction: Interaction, typed: string) {
  const pieces = typed.match(/[\s\S]{1,3}/g) ?? [];
  const lines = new LineReader({ [Symbol.asyncIterator]: () => Iterator.from(pieces)[Symbol.iterator]() as never });
  let shown = '';
  const content = await answerInteraction(interaction, lines, { write: (text) => (shown += text) });
  return { content, shown };
}

const permission: Interaction = { kind: 'permission', operation: 'shell: ls', options: ['allow_once', 'reject_once'] };

it('takes a number, an option or the end of the input as the answer to a permission', async () => {
  expect((await answer(permission, 'what\n9\n2\n')).content).toBe('reject_once');
  expect((await answer(permission, 'allow_once\r\n')).content).toBe('allow_once');
  expect((await answer(permission, '3\n')).content).toBe('cancel');
  const { content, shown } = await answer(permission, '');
  expect(content).toBe('cancel');
  expect(shown).toBe('It wants to run: shell: ls\n  1 allow_once\n  2 reject_once\n  3 cancel\nChoice: ');
});

it('reads the fields of a question by their types', async () => {
  const question: Interaction = {
    kind: 'elicitation',
    message: 'How?',
    fields: [
      { name: 'color', type: 'string', required: true, options: ['red', 'green'] },
      { name: 'count', type: 'number', required: true },
      { name: 'fast', type: 'boolean', required: true },
      { name: 'note', type: 'string', required: false },
    ],
  };
  const { content } = await answer(question, 'blue\n2\nmany\n\n7\nperhaps\nyes\n\n');
  expect(JSON.parse(content)).toEqual({ action: 'accept', content: { color: 'green', count: 7, fast: true } });
  expect(JSON.parse((await answer(question, 'red\n')).content)).toEqual({ action: 'cancel' });
});

it('reads a last line without its end, and splits long lines', async () => {
  async function* pieces() {
    yield Buffer.from('a\nb');
    yield Buffer.from(`\n${'x'.repeat(40_000)}`);
  }
  const lines = new LineReader(pieces());
  expect([await lines.read(), await lines.read()]).toEqual(['a', 'b']);
  expect([(await lines.read())!.length, (await lines.read())!.length, await lines.read()]).toEqual([
    32_000,
    8_000,
    undefined,
  ]);
});
