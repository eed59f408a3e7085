import type { Caller } from '../../domain/caller.ts';
import { GatewayError } from '../../domain/errors.ts';
import { type InputItem, partHolders } from '../../domain/items.ts';
import { isStoredFileId } from '../../domain/stored-file.ts';
import { pass, type Verdict } from '../../domain/verdict.ts';
import { walkInput } from '../../routing/walk-input.ts';
import type { Inspector } from './inspect-input.ts';
import type { Run } from './run.ts';

/** A stored file that a request names. */
export interface NamedFile {
  readonly filename: string;
  readonly mimeType: string;
  readonly bytes: number;
  /** @throws {GatewayError} `unavailable` */
  read(): Promise<Buffer>;
}

/** The stored files of callers. */
export interface NamedFiles {
  /** @returns undefined if the workspace of the caller has no such file */
  find(caller: Caller, id: string): Promise<NamedFile | undefined>;
  /** Maximum number, and bytes together, of the files of a request. */
  limits(): { maxFiles: number; maxBytes: number };
}

/**
 * Creates the inspector that replaces the ids of stored files with their contents, as if the caller had sent these.
 * All stages after it, such as plugins and wires, see only contents. Ids of providers stay.
 *
 * @see docs/guides/files.md#store-files
 */
export const createStoredFileInspector =
  (files: NamedFiles): Inspector =>
  (run, added) => {
    if (added) return pass; // from plugins and tools, which cannot name files of a workspace
    const input = run.input.read();
    return walkInput(input).namesStoredFiles ? insertFiles(run, input, files) : pass;
  };

type Part = { type: string; file_id?: string; [field: string]: unknown };

interface Place {
  part: Part;
  /** Path of the id in the request. */
  path: string;
}

async function insertFiles(run: Run, input: InputItem[], files: NamedFiles): Promise<Verdict> {
  const places = listPlaces(input);
  const found = await findFiles(run, places, files);
  let bytes = 0;
  for (const { part } of places) bytes += found.get(part.file_id!)!.bytes;
  const { maxBytes } = files.limits();
  if (bytes > maxBytes) {
    throw new GatewayError(
      'payload_too_large',
      `The stored files of the request have ${bytes} bytes together; at most ${maxBytes} are sent (files.request_bytes).`,
    );
  }
  run.memory?.add(Math.ceil((bytes / 3) * 4)); // as base64
  const contents = new Map<string, string>();
  for (const [id, file] of found) {
    contents.set(id, `data:${file.mimeType};base64,${(await file.read()).toString('base64')}`);
    if (run.cancellation.reason) throw run.cancellation.reason;
  }
  const replace = (part: Part): Part => fill(part, found.get(part.file_id!)!, contents.get(part.file_id!)!);
  return { type: 'replace', change: { input: mapStoredParts(input, replace) } };
}

/** @throws {GatewayError} `invalid_request` that names the part */
async function findFiles(run: Run, places: readonly Place[], files: NamedFiles): Promise<Map<string, NamedFile>> {
  const { maxFiles } = files.limits();
  if (places.length > maxFiles) {
    reject(places[maxFiles]!, `the request names ${places.length} stored files; at most ${maxFiles} are sent.`);
  }
  const found = new Map<string, NamedFile>();
  for (const place of places) {
    const { type, file_id: id = '', file_data, file_url, image_url } = place.part;
    if (file_data || file_url || image_url) reject(place, 'the part has another source, too; send one of them.');
    const file = found.get(id) ?? (await files.find(run.caller, id));
    if (run.cancellation.reason) throw run.cancellation.reason;
    if (!file) return reject(place, `there is no file ${JSON.stringify(id.slice(0, 100))} in this workspace.`);
    if (type === 'input_image' && !file.mimeType.startsWith('image/')) {
      reject(place, `${file.filename} is ${file.mimeType}, not an image; send it as input_file.`);
    }
    if (type === 'input_file' && /^(image|audio)\//.test(file.mimeType)) {
      const instead = file.mimeType.startsWith('image/') ? 'send it as input_image' : 'models get audio as input_audio';
      reject(place, `${file.filename} is ${file.mimeType}; ${instead}.`);
    }
    found.set(id, file);
  }
  return found;
}

function reject({ path }: Place, message: string): never {
  throw new GatewayError('invalid_request', `${path}: ${message}`, {
    metadata: { param: path, issues: [{ path, message }] },
  });
}

function fill({ file_id: _, ...part }: Part, file: NamedFile, data: string): Part {
  if (part.type === 'input_image') return { ...part, type: part.type, image_url: data };
  const filename = part['filename'] ?? file.filename.slice(file.filename.lastIndexOf('/') + 1);
  return { ...part, type: part.type, filename, file_data: data };
}

function listPlaces(input: readonly InputItem[]): Place[] {
  const places: Place[] = [];
  mapStoredParts(input, (part, path) => {
    places.push({ part, path });
    return part;
  });
  return places;
}

/** Calls a function with each part that names a stored file. */
const mapStoredParts = (input: readonly InputItem[], change: (part: Part, path: string) => Part): InputItem[] =>
  input.map((item, at) => {
    const holder = partHolders.get(item.type);
    const parts: unknown = holder && item[holder as keyof InputItem];
    if (!holder || !Array.isArray(parts) || !parts.some(namesFile)) return item;
    const changed = parts.map((part: unknown, index) =>
      namesFile(part) ? change(part, `input[${at}].${holder}[${index}].file_id`) : part,
    );
    return { ...item, [holder]: changed } as InputItem; // the same item with parts of the same types
  });

const namesFile = (part: unknown): part is Part => {
  const { type, file_id: id } = (part ?? {}) as Partial<Part>;
  return (type === 'input_file' || type === 'input_image') && isStoredFileId(id);
};
