import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { readAgentPieces } from './read-agent-pieces.ts';

const open = (): IncomingMessage => new IncomingMessage(new Socket());
async function collect(response: IncomingMessage): Promise<string[]> {
  const pieces: string[] = [];
  try {
    for await (const piece of readAgentPieces(response)) pieces.push(piece);
  } catch (error) {
    pieces.push(`failed: ${(error as Error).message}`);
  }
  return pieces;
}

it('returns what has arrived before the connection ended, and then its error', async () => {
  const response = open();
  const read = collect(response);
  response.push('a');
  await new Promise(setImmediate);
  response.push('ü');
  response.push('c');
  response.destroy(new Error('reset'));
  expect((await read).join('')).toBe('aücfailed: reset');
});

it('ends with the response, and fails if the connection is closed before', async () => {
  const [whole, cut] = [open(), open()];
  whole.push('a');
  whole.push(null);
  expect(await collect(whole)).toEqual(['a']);
  cut.destroy();
  expect(await collect(cut)).toEqual(['failed: The connection was closed.']);
});

it('closes the connection if its reader stops', async () => {
  const response = open();
  response.push('a');
  for await (const piece of readAgentPieces(response)) {
    expect(piece).toBe('a');
    break;
  }
  expect(response.destroyed).toBe(true);
});
