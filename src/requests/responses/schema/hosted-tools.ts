import { Type } from 'typebox';
import { containerIdPattern, containerIdRule } from '../../../domain/container-id.ts';
import { anyObject, mapOf, maybe, oneOf, openWord, strings } from '../../../schema/shapes.ts';
import {
  domainFilter,
  contextSizes,
  searchEngine,
  searchMode,
  typedUserLocation,
  userLocation,
  xSearch,
} from '../../../tools/web-search/shapes.ts';

const search = {
  engine: Type.Optional(searchEngine),
  filters: maybe(domainFilter),
  max_results: Type.Optional(Type.Integer()),
  max_uses: Type.Optional(Type.Integer()),
  mode: Type.Optional(searchMode),
  search_context_size: Type.Optional(openWord(...contextSizes)),
  x_search: Type.Optional(xSearch),
};

const webSearch = <Kind extends 'web_search' | 'web_search_2025_08_26'>(type: Kind) =>
  Type.Object({ type: Type.Literal(type), ...search, user_location: maybe(userLocation) });

const webSearchPreview = <Kind extends 'web_search_preview' | 'web_search_preview_2025_03_11'>(type: Kind) =>
  Type.Object({ type: Type.Literal(type), ...search, user_location: maybe(typedUserLocation) });

const comparison = Type.Object({
  type: oneOf('eq', 'ne', 'gt', 'gte', 'lt', 'lte'),
  key: Type.String(),
  value: Type.Union([
    Type.String(),
    Type.Number(),
    Type.Boolean(),
    Type.Array(Type.Union([Type.String(), Type.Number()])),
  ]),
});
const compound = Type.Object({ type: oneOf('and', 'or'), filters: Type.Array(anyObject()) });

const fileSearch = Type.Object({
  type: Type.Literal('file_search'),
  vector_store_ids: strings(),
  filters: maybe(Type.Union([comparison, compound])),
  max_num_results: Type.Optional(Type.Integer()),
  ranking_options: Type.Optional(
    Type.Object({
      ranker: Type.Optional(openWord('auto', 'default-2024-11-15')),
      score_threshold: Type.Optional(Type.Number()),
    }),
  ),
});

const computerUse = Type.Object({
  type: Type.Literal('computer_use_preview'),
  display_height: Type.Integer(),
  display_width: Type.Integer(),
  environment: openWord('windows', 'mac', 'linux', 'ubuntu', 'browser'),
});

const codeInterpreter = Type.Object({
  type: Type.Literal('code_interpreter'),
  container: Type.Union([
    // An id that begins with `cntr_` is from a provider. Any other id is from the gateway. choice 692
    Type.String({ pattern: `^cntr_[A-Za-z0-9_-]{1,200}$|${containerIdPattern}`, says: containerIdRule }),
    Type.Object({
      type: Type.Literal('auto'),
      file_ids: Type.Optional(strings()),
      memory_limit: maybe(oneOf('1g', '4g', '16g', '64g')),
    }),
  ]),
});

const namedTools = Type.Object({ tool_names: Type.Optional(strings()) });

const mcp = Type.Object({
  type: Type.Literal('mcp'),
  server_label: Type.String(),
  allowed_tools: maybe(
    Type.Union([
      strings(),
      Type.Object({ tool_names: Type.Optional(strings()), read_only: Type.Optional(Type.Boolean()) }),
    ]),
  ),
  authorization: Type.Optional(Type.String()),
  connector_id: Type.Optional(
    openWord(
      'connector_dropbox',
      'connector_gmail',
      'connector_googlecalendar',
      'connector_googledrive',
      'connector_microsoftteams',
      'connector_outlookcalendar',
      'connector_outlookemail',
      'connector_sharepoint',
    ),
  ),
  headers: maybe(mapOf(Type.String())),
  require_approval: maybe(
    Type.Union([
      oneOf('always', 'never'),
      Type.Object({ always: Type.Optional(namedTools), never: Type.Optional(namedTools) }),
    ]),
  ),
  server_description: Type.Optional(Type.String()),
  server_url: Type.Optional(Type.String()),
});

const imageGeneration = Type.Object({
  type: Type.Literal('image_generation'),
  background: Type.Optional(openWord('transparent', 'opaque', 'auto')),
  input_fidelity: maybe(openWord('high', 'low')),
  input_image_mask: Type.Optional(
    Type.Object({ file_id: Type.Optional(Type.String()), image_url: Type.Optional(Type.String()) }),
  ),
  model: Type.Optional(Type.String()),
  moderation: Type.Optional(openWord('auto', 'low')),
  output_compression: Type.Optional(Type.Integer()),
  output_format: Type.Optional(openWord('png', 'webp', 'jpeg')),
  partial_images: Type.Optional(Type.Integer()),
  quality: Type.Optional(openWord('low', 'medium', 'high', 'auto')),
  size: Type.Optional(Type.String()),
});

/** The tools of the Responses API that providers run. Their settings are fields next to `type`. @see docs/reference/tools.md#hosted-tools */
export const hostedTools = {
  web_search: webSearch('web_search'),
  web_search_2025_08_26: webSearch('web_search_2025_08_26'),
  web_search_preview: webSearchPreview('web_search_preview'),
  web_search_preview_2025_03_11: webSearchPreview('web_search_preview_2025_03_11'),
  file_search: fileSearch,
  computer_use_preview: computerUse,
  code_interpreter: codeInterpreter,
  mcp,
  image_generation: imageGeneration,
  local_shell: Type.Object({ type: Type.Literal('local_shell') }),
  shell: Type.Object({ type: Type.Literal('shell') }),
  apply_patch: Type.Object({ type: Type.Literal('apply_patch') }),
};
