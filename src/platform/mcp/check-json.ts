import { McpError } from '../../domain/mcp.ts';
import { describeExcess } from '../../domain/parse-json.ts';

/** The end of an event: an empty line. */
const eventEnd = /\n\n|\r\r|\r\n\r\n/;

/**
 * Passes on a body that the client library parses, in pieces that it may parse: all of it, or whole events.
 *
 * @param body has a bounded size
 * @throws {McpError} `limit` if its JSON exceeds a limit of `parseJson`
 */
export async function* checkBody(body: AsyncIterable<Buffer>, isEventStream: boolean): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let tail = '';
  for await (const piece of body) {
    held.push(piece);
    if (!isEventStream) continue;
    const text = tail + piece.toString('latin1');
    tail = text.slice(-3);
    if (!eventEnd.test(text)) continue;
    yield checkEvents(Buffer.concat(held));
    held = [];
  }
  const rest = Buffer.concat(held);
  if (rest.length > 0) yield isEventStream ? checkEvents(rest) : checkWhole(rest);
}

/** @returns an error of the kind `limit` for a JSON text that exceeds a limit of `parseJson` */
export function findExcessFault(json: Buffer): McpError | undefined {
  const says = describeExcess(json);
  return says === undefined ? undefined : new McpError('limit', `The MCP server sent JSON that ${says}.`);
}

function checkWhole(json: Buffer): Buffer {
  const fault = findExcessFault(json);
  if (fault) throw fault;
  return json;
}

function checkEvents(bytes: Buffer): Buffer {
  let data: string[] = [];
  const check = (): void => {
    checkWhole(Buffer.from(data.join('\n'), 'latin1'));
    data = [];
  };
  for (const line of bytes.toString('latin1').split(/\r\n|\n|\r/)) {
    if (line === '') check();
    else if (line.startsWith('data:')) data.push(line.slice('data:'.length));
  }
  check();
  return bytes;
}
