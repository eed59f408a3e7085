import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { definedRoutes } from '../src/api/routes.ts';
import { createDocument } from '../src/openapi/create-document.ts';

/*
 * Writes src/api/schema.d.ts: the types of all routes, from the OpenAPI document of the sources. The first line has a hash of
 * the document, so that an unchanged one costs nothing.
 *
 *     node console/generate-types.ts
 */
const file = join(import.meta.dirname, 'src/api/schema.d.ts');

/** Writes the types unless they are up to date. */
export async function generateTypes(): Promise<void> {
  const text = JSON.stringify(createDocument('0.0.0', definedRoutes));
  const mark = `// ${createHash('sha256').update(text).digest('hex')}\n`;
  if (existsSync(file) && readFileSync(file, 'utf8').startsWith(mark)) return;
  const types = astToString(await openapiTypescript(text));
  // Another build may read or write the file at the same time.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, mark + types);
  renameSync(draft, file);
}

if (import.meta.main) await generateTypes();
