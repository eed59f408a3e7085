/**
 * Parses and serializes every body and every event: the minimum cost of a translating gateway on Node.
 * The budgets are multiples of this floor.
 *
 *     node bench/references/parsing-proxy.ts PORT UPSTREAM_PORT
 */
import { StringDecoder } from 'node:string_decoder';
import { serveProxy } from './proxy.ts';

const reserialize = (json: string): string => JSON.stringify(JSON.parse(json));
const prefix = 'data: ';

function reserializeLine(line: string): string {
  return line.startsWith(`${prefix}{`) ? `${prefix}${reserialize(line.slice(prefix.length))}\n` : `${line}\n`;
}

function createEventStream() {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return {
    write(piece: Buffer): string | undefined {
      const lines = (rest + decoder.write(piece)).split('\n');
      rest = lines.pop() ?? '';
      return lines.length === 0 ? undefined : lines.map(reserializeLine).join('');
    },
    end: () => (rest === '' ? undefined : reserializeLine(rest)),
  };
}

function createBody() {
  const pieces: Buffer[] = [];
  return {
    write(piece: Buffer): undefined {
      pieces.push(piece);
    },
    end: () => reserialize(Buffer.concat(pieces).toString()),
  };
}

serveProxy('parsing-proxy', {
  request: (body) => Buffer.from(reserialize(body.toString())),
  createResponse: (contentType) => (contentType.startsWith('text/event-stream') ? createEventStream() : createBody()),
});
