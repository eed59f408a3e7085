import { join } from 'node:path';
import { createGenerator } from 'ts-json-schema-generator';
import type { Schema } from './find-faults.ts';

/*
 * Prints the schemas of `answers.ts`: one object, whose properties are the kinds of answers. `public-schemas.ts` runs it as a
 * process, because the compiler needs 300 MB.
 */

/** Properties that a client adds to what it reads. */
const added: Readonly<Record<string, readonly string[]>> = { Response: ['output_text'] };

const generator = createGenerator({
  path: join(import.meta.dirname, 'answers.ts'),
  tsconfig: join(import.meta.dirname, 'tsconfig.json'),
  skipTypeCheck: true,
  additionalProperties: true,
  expose: 'all',
  jsDoc: 'none',
});
const kinds = ['OpenAIAnswers', 'AnthropicAnswers', 'GeminiAnswers'].flatMap((list) => {
  const { definitions = {} } = generator.createSchema(list) as { definitions?: Record<string, Schema> };
  for (const [name, properties] of Object.entries(added)) {
    const definition = definitions[name];
    if (definition?.required) definition.required = definition.required.filter((field) => !properties.includes(field));
  }
  return Object.entries(definitions[list]?.properties ?? {}).map(([kind, schema]) => [
    kind,
    { ...schema, definitions },
  ]);
});
process.stdout.write(JSON.stringify(Object.fromEntries(kinds)));
