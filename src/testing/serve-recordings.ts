import { readdirSync } from 'node:fs';
import { type ScriptedResponse, splitIntoPieces, throttle, json, recording } from './scripted-responses.ts';
import type { ScriptedRequest } from './scripted-upstream.ts';

/** How a recorded body is written. Absent: in one piece. */
export interface Pace {
  /** Bytes of a write. Several sizes are cycled through. */
  sizes?: number | readonly number[];
  /** Between two writes. Absent: no pause. */
  everyMs?: number;
}

const ending = '.http';

/**
 * Serves a folder of recordings like a provider. The name of the model selects one: `text` is `text.stream.http` for a
 * streamed request and `text.whole.http` otherwise, or the only one there is. `text.whole` is that file for both. This
 * works for every wire that has the model and the streaming flag in its body (`model`, `stream`) or in its path
 * (`/models/NAME:streamSomething`).
 *
 * @param folder of `<name>.stream.http`, `<name>.whole.http`, and errors by any name
 * @returns an argument for `upstream.always(…)`
 */
export function serveRecordings(folder: URL, pace: Pace = {}): (request: ScriptedRequest) => ScriptedResponse {
  const base = new URL(folder.href.replace(/\/?$/, '/'));
  const files = new Map<string, URL>();
  for (const file of readdirSync(base)) {
    if (file.endsWith(ending)) files.set(file.slice(0, -ending.length), new URL(file, base));
  }
  return function answerRecorded(request) {
    const { name, stream } = readWish(request);
    const kinds = stream ? ['', '.stream', '.whole'] : ['', '.whole', '.stream'];
    const file = kinds.map((kind) => files.get(name + kind)).find((url) => url !== undefined);
    if (file) return atPace(recording(file), pace);
    return json({ error: { message: `No recording is called ${name}.` } }, { status: 404 });
  };
}

function readWish({ path, body }: ScriptedRequest): { name: string; stream: boolean } {
  const [, inPath, method = ''] = /\/models\/([^/:?]+):(\w+)/.exec(path) ?? [];
  if (inPath !== undefined) return { name: decodeURIComponent(inPath), stream: method.startsWith('stream') };
  const { model, stream } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  return { name: String(model), stream: stream === true };
}

function atPace(answer: ScriptedResponse, { sizes, everyMs }: Pace): ScriptedResponse {
  if (sizes === undefined) return answer;
  return everyMs === undefined ? splitIntoPieces(answer, sizes) : throttle(answer, sizes, everyMs);
}
