import { listDroppedFields } from '../../pipeline/run/dropped-fields.ts';
import type { RenameFields } from '../../requests/rename-fields.ts';
import type { RunBase } from '../../pipeline/run/run.ts';

export const DROPPED_FIELDS_HEADER = 'x-router-dropped-fields';

/** Maximum characters of the header: proxies reject responses with large headers. */
const MAX_CHARACTERS = 1024;
/** Stands for the names that have no room. */
const MORE = '...';

/**
 * Names the request fields that had no effect: unknown ones, and those that the endpoint of the run did not get (choice 635).
 *
 * @param rename names the fields that the endpoint did not get as the body does
 * @returns the value of the header; undefined if every field had an effect
 * @see docs/reference/http.md#dropped-fields
 */
export function writeDroppedFields(
  run: Pick<RunBase, 'ignoredFields' | 'steps'>,
  rename?: RenameFields,
): string | undefined {
  const found = listDroppedFields(run);
  if (found.length === 0 && run.ignoredFields.length === 0) return undefined;
  const dropped = rename ? found.map(rename) : found;
  const names = new Set<string>();
  let text = '';
  let isCut = false;
  let left = MAX_CHARACTERS - MORE.length;
  const fields = run.ignoredFields.length === 0 ? dropped : dropped.concat(run.ignoredFields);
  for (const field of fields) {
    const name = writeName(field);
    if (names.has(name)) continue;
    left -= name.length + 2;
    if (name === MORE || left < 0) {
      isCut = true;
      if (left < 0) break;
    } else {
      names.add(name);
      text = text === '' ? name : `${text}, ${name}`;
    }
  }
  if (!isCut) return text;
  return text === '' ? MORE : `${text}, ${MORE}`;
}

/** Everything else could end the header or the list. Clients choose the names of unknown fields. */
const UNSAFE = /[^\w.[\]()$/:@+-]/gu;
const SAFE = /^[\w.[\]()$/:@+-]*$/;

/**
 * Returns a name without the explanation in parentheses, which the metadata has. Unusual characters are percent-encoded.
 */
function writeName(field: string): string {
  if (field.startsWith('…')) return MORE;
  const explanation = field.endsWith(')') ? field.indexOf(' (') : -1;
  const name = explanation > 0 ? field.slice(0, explanation) : field;
  if (SAFE.test(name)) return name; // most names; a test is cheaper than a replacement
  return name.toWellFormed().replace(UNSAFE, percentEncode);
}

/** Encodes also what `encodeURIComponent` leaves as it is. */
const percentEncode = (character: string): string => {
  const encoded = encodeURIComponent(character);
  return encoded === character ? `%${character.charCodeAt(0).toString(16).toUpperCase()}` : encoded;
};
