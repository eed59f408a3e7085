import { invalidRequest } from '../../domain/errors.ts';
import { escapeControls } from '../../domain/escape-controls.ts';

/** Maximum length of a file name, in characters. */
export const MAX_FILENAME = 255;

/** Controls, line separators and invisible characters, which could hide a part of the name. Some scripts need joiners. */
const invisible = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const forbidden = /[<>:"|?*\\]/;

const RULE = '< > : " | ? * \\ and control or invisible characters are not allowed';

/** @returns why a file cannot have this name, as the end of a sentence; undefined: it can */
export function explainFilename(filename: string): string | undefined {
  const length = [...filename].length;
  if (length === 0 || length > MAX_FILENAME) return `has ${length} characters; 1 to ${MAX_FILENAME} are allowed`;
  if (!filename.isWellFormed()) return 'is not well-formed Unicode';
  const bad = forbidden.exec(filename)?.[0];
  if (bad !== undefined) return `contains ${JSON.stringify(bad)}; ${RULE}`;
  const hidden = invisible.exec(filename)?.[0].codePointAt(0);
  if (hidden !== undefined) return `contains U+${hidden.toString(16).toUpperCase().padStart(4, '0')}; ${RULE}`;
  if (filename.startsWith('/') || filename.endsWith('/')) return 'begins or ends with /; remove it';
  const segment = filename.split('/').find((each) => each === '' || each === '.' || each === '..');
  if (segment !== undefined) return `contains the segment "${segment}"; empty ones, . and .. are not allowed`;
  return undefined;
}

/** @param path of the field @throws {GatewayError} `invalid_request` */
export function checkFilename(filename: string, path: string): void {
  const says = explainFilename(filename);
  if (says === undefined) return;
  throw invalidRequest([
    { path, message: `the filename ${escapeControls(JSON.stringify(filename.slice(0, 100)))} ${says}.` },
  ]);
}
