import type { Tool, ToolChoice } from '../../domain/items.ts';
import { NATIVE_FIELD, type NativeRequest } from '../../domain/native.ts';
import type { PathNotes } from '../path-notes.ts';
import { readOpenApiSchema } from './json-schema.ts';
import type { GeminiBody } from './schema.ts';

type Fields = Record<string, unknown>;
type Declaration = Fields & { name: string; description?: string; parameters?: Fields; parametersJsonSchema?: Fields };

/** The tools of a request in the shape of the pipeline. */
export interface GeminiToolSet {
  tools: Tool[] | undefined;
  choice: ToolChoice | undefined;
  /** Tools of the provider as the client named them, by the type of the gateway's tool. */
  native: NativeRequest['tools'];
}

/** Tools of the provider that the gateway has, too. */
const gatewayTools: ReadonlyMap<string, Tool['type']> = new Map<string, Tool['type']>([
  ['googleSearch', 'web_search'],
  ['googleSearchRetrieval', 'web_search'],
  ['urlContext', 'router:web_fetch'],
  ['codeExecution', 'router:code_interpreter'],
]);

/** Translates the tools of a checked body. An entry may have several tools. */
export function translateGeminiTools(
  { tools, toolConfig }: Pick<GeminiBody, 'tools' | 'toolConfig'>,
  notes?: PathNotes,
): GeminiToolSet {
  const written: Tool[] = [];
  const native: Record<string, Fields> = {};
  const names: string[] = [];
  const add = (tool: object, path: string): void => {
    notes?.add(`tools[${written.length}]`, path);
    written.push(tool as Tool); // each has the shape of its kind
  };
  for (const [index, entry] of (tools ?? []).entries()) {
    for (const [kind, value] of Object.entries(entry as Fields)) {
      if (value === undefined || value === null) continue;
      if (kind === 'functionDeclarations') {
        for (const [at, declared] of (value as Declaration[]).entries()) {
          names.push(declared.name);
          add(writeFunction(declared), `tools[${index}].functionDeclarations[${at}]`);
        }
        continue;
      }
      const type = gatewayTools.get(kind);
      const given = { [kind]: value };
      if (type?.startsWith('router:')) native[type] = given;
      const kept = type?.startsWith('router:') ? undefined : { [NATIVE_FIELD]: given };
      add({ type: type ?? `gemini:${kind}`, ...kept }, `tools[${index}].${kind}`);
    }
  }
  return {
    tools: written.length > 0 ? written : undefined,
    choice: names.length > 0 ? writeChoice(toolConfig) : undefined,
    native,
  };
}

function writeFunction(declared: Declaration): object {
  const { name, description, parameters, parametersJsonSchema: schema, ...rest } = declared;
  const kept = Object.entries({ ...rest, ...(!schema && { parameters }) }).filter(([, value]) => value);
  return {
    type: 'function',
    name,
    ...(description && { description }),
    parameters: schema ?? (parameters ? readOpenApiSchema(parameters) : { type: 'object', properties: {} }),
    strict: false, // in the Responses format, a function is strict unless it says otherwise
    ...(kept.length > 0 && { [NATIVE_FIELD]: Object.fromEntries(kept) }),
  };
}

/** The modes apply to functions only. */
function writeChoice(config: GeminiBody['toolConfig']): ToolChoice | undefined {
  const { mode, allowedFunctionNames: names } = config?.functionCallingConfig ?? {};
  const allowed = (names ?? []).map((name) => ({ type: 'function', name }));
  switch (mode) {
    case 'NONE':
      return 'none';
    case 'ANY':
      if (allowed.length === 1) return { type: 'function', name: allowed[0]!.name };
      return allowed.length > 1 ? { type: 'allowed_tools', mode: 'required', tools: allowed } : 'required';
    case 'AUTO':
    case 'VALIDATED':
      return allowed.length > 0 ? { type: 'allowed_tools', mode: 'auto', tools: allowed } : 'auto';
    default:
      return allowed.length > 0 ? { type: 'allowed_tools', mode: 'auto', tools: allowed } : undefined;
  }
}
