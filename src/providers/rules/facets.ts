import { type Static, type TProperties, Type } from 'typebox';
import { efforts } from '../../domain/items.ts';

/*
 * The vocabulary of the rules of providers. Each facet is a setting of `dialect` and of the rule sets in `data/`. A new
 * kind of rule is a new facet here and a function in `fit/`; no translator compares the name of a provider or a model.
 */

const bool = (description: string) => Type.Optional(Type.Boolean({ description }));
const count = (description: string, minimum = 0) => Type.Optional(Type.Integer({ minimum, description }));
const closed = <Properties extends TProperties>(properties: Properties, description: string) =>
  Type.Optional(Type.Object(properties, { additionalProperties: false, description }));

const scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);

/** The circumstances under which a rule holds. All that are named must be true of the request. */
const condition = Type.Object(
  {
    tools: bool('Whether the request has tools.'),
    forced: bool('Whether the request forces a tool call.'),
    thinking: bool('Whether the request turns reasoning on.'),
    reasoning_off: bool('Whether the request turns reasoning off. For `anthropic-messages`.'),
    search: bool('Whether the request has the search of the provider.'),
    stream: bool('Whether the request is streamed.'),
    format: bool('Whether the request has a JSON format.'),
    greedy: bool('Whether the temperature of the request is 0.'),
    efforts: Type.Optional(
      Type.Array(Type.Enum([...efforts]), { description: 'The effort of the request is one of these.' }),
    ),
    not_efforts: Type.Optional(
      Type.Array(Type.Enum([...efforts]), { description: 'The effort of the request is none of these, or absent.' }),
    ),
  },
  { additionalProperties: false, description: 'The rule holds only for such requests.' },
);

const fieldRule = Type.Object(
  {
    send: bool('False: the field is dropped and reported.'),
    name: Type.Optional(Type.String({ minLength: 1, description: 'The name of the field at this server.' })),
    min: Type.Optional(Type.Number({ description: 'Smaller numbers become this one.' })),
    max: Type.Optional(Type.Number({ description: 'Larger numbers become this one.' })),
    max_length: count('A longer text becomes its hash.', 8),
    values: Type.Optional(Type.Array(scalar, { description: 'Every other value is dropped and reported.' })),
    instead: Type.Optional(
      Type.Union(scalar.anyOf, { description: 'Every value that is not in `values` becomes this one.' }),
    ),
    losable: Type.Optional(
      Type.Array(scalar, {
        description:
          'The field matters so much that a request which would lose it is a 400, except for these values: `["global"]`.',
      }),
    ),
    without: Type.Optional(Type.Array(scalar, { description: 'Entries of a list that are dropped.' })),
    not_with: Type.Optional(
      Type.Array(Type.String(), { description: 'The field is dropped and reported if the body has one of these.' }),
    ),
    when: Type.Optional(condition),
  },
  { additionalProperties: false },
);

export const facets = {
  fields: Type.Optional(
    Type.Record(Type.String(), Type.Union([fieldRule, Type.Array(fieldRule)]), {
      description:
        'Rules of fields of the body, by their names in the format: `{temperature: {max: 1}}`, `{seed: {send: false}}`.',
    }),
  ),
  omit_paths: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Paths of fields that the server rejects: `tools.*.input_examples`. `*` is each entry of a list. They are dropped and reported.',
    }),
  ),
  body: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Fields to add to every body that does not have them: `{enable_thinking: false}`.',
    }),
  ),
  output: closed(
    {
      min: count('Smaller limits of the output become this one.', 1),
      max: count('Larger limits of the output become this one.', 1),
      max_unstreamed: count('Larger limits need a streamed response. The gateway then streams and folds it.', 1),
    },
    'Bounds of the limit of output tokens.',
  ),
  stops: closed(
    {
      max: count('Maximum number of stop texts. 0: the server has none. The gateway applies the others.'),
      blank: bool('False: a text of white space alone is rejected, so the gateway applies it.'),
    },
    'Texts that end the output.',
  ),
  ids: closed(
    {
      characters: Type.Optional(
        Type.Enum(['any', 'word', 'alphanumeric'], {
          description: '`word`: letters, digits, `_`, `-`. `alphanumeric`: letters and digits.',
        }),
      ),
      length: count('Exact length.', 1),
      max_length: count('Maximum length.', 1),
      unique: bool('Whether an id must not occur twice in a conversation.'),
      hosted: Type.Optional(
        Type.String({
          minLength: 1,
          description:
            'How the id of a call begins that the provider itself runs. Such calls of other providers are left out with their results.',
        }),
      ),
    },
    'Ids of calls. The gateway sends another id instead of one that the server rejects.',
  ),
  tools: closed(
    {
      max: count('Maximum number of tools.'),
      supported: bool('False: the model has no tools.'),
      name_start: Type.Optional(
        Type.Enum(['any', 'letter', 'letter_or_underscore'], { description: 'The first character of a name.' }),
      ),
      name_length: count('Maximum length of a name.', 1),
      reserved: Type.Optional(
        Type.Array(Type.String(), {
          description: 'Names that the server does not permit. Such a tool gets another one.',
        }),
      ),
      description_length: count('Maximum length of a description, in characters.', 1),
      strict: Type.Optional(
        Type.Enum(['send', 'omit', 'explicit', 'same'], {
          description:
            '`explicit`: `strict: false` is sent for a tool without it. `same`: all tools are strict or none. `omit`: the server rejects the field.',
        }),
      ),
      parameters: bool('Whether a tool without parameters gets an empty schema.'),
      own_fields: bool('False: a tool has only the fields that its format knows. Others are dropped and reported.'),
      with_search: bool('False: the search of the provider is not combined with functions. Then it is dropped.'),
      only_functions: bool(
        'Whether a server of the Responses format has only functions. Custom tools and groups then become functions.',
      ),
      web_access: bool(
        'False: a web search has no `external_web_access`. One in which it is false, so that it must not reach the web, is left out.',
      ),
      filtered_search: bool(
        'False: the search and the fetch of Anthropic have no dynamic filtering. Newer versions become `web_search_20250305` and `web_fetch_20250910`.',
      ),
      keep_for_calls: bool('Whether a request with calls in its input needs tools.'),
    },
    'Function tools.',
  ),
  tool_choice: closed(
    {
      values: Type.Optional(
        Type.Array(Type.Enum(['auto', 'none', 'required', 'named']), {
          description:
            'Supported values. `auto` is left out, and `none` with the tools. A named tool becomes `required` with only this tool. A value that forces a call and has no substitute becomes a last message of the user, and is reported.',
        }),
      ),
      while_thinking: Type.Optional(
        Type.Array(Type.Enum(['auto', 'none', 'required', 'named']), {
          description: 'Supported values while the model reasons. For others, the gateway turns the reasoning off.',
        }),
      ),
    },
    'The choice of a tool.',
  ),
  schemas: closed(
    {
      root: Type.Optional(
        Type.Enum(['any', 'object', 'plain_object'], {
          description:
            '`object`: the root has the type object. `plain_object`: it also has no `anyOf`, `oneOf` or `allOf`.',
        }),
      ),
      properties: bool('Whether an object needs `properties`.'),
      references: Type.Optional(
        Type.Enum(['any', 'definitions', 'alone'], {
          description:
            '`definitions`: a `$ref` names an entry of `$defs`. The description beside it says the rest in words. `alone`: where something else stands beside a `$ref`, the entry is written out.',
        }),
      ),
      enum_types: bool('Whether a schema with `enum` names the type of its values.'),
      booleans: bool('False: a schema is an object, never `true` or `false`.'),
      closed: Type.Optional(
        Type.Enum(['never', 'format', 'always'], {
          description: 'Whether objects get `additionalProperties: false`: in the output format, or in tools as well.',
        }),
      ),
      property_names: Type.Optional(
        Type.Enum(['any', 'word'], { description: '`word`: letters, digits, `_`, `.`, `-`, at most 64.' }),
      ),
      drop: Type.Optional(
        Type.Array(Type.String(), {
          description:
            'Keywords that the server rejects. The description of the schema says in words what they demand.',
        }),
      ),
      nullable: Type.Optional(
        Type.Enum(['any', 'flag'], {
          description: '`flag`: a schema that also permits null has one type and `nullable: true`.',
        }),
      ),
      type_beside_union: bool('False: a schema with `anyOf` must have no `type` beside it.'),
      anchored_patterns: bool('Whether a `pattern` must begin with `^` and end with `$`.'),
      strict: Type.Optional(
        Type.Enum(['any', 'complete'], {
          description:
            '`complete`: a strict schema closes its objects and requires all their properties. A tool or format with another schema is sent as not strict.',
        }),
      ),
      modern: bool('Whether schemas must be valid in the draft 2020-12: older keywords are rewritten.'),
    },
    'JSON schemas of tools and of the output.',
  ),
  format: closed(
    {
      json_schema: Type.Optional(
        Type.Enum(['send', 'object', 'describe'], {
          description:
            '`object`: the server has only JSON mode, so the prompt describes the schema. `describe`: it has neither.',
        }),
      ),
      json_object: Type.Optional(
        Type.Enum(['send', 'schema', 'describe'], {
          description: '`schema`: the server wants a schema, and gets one for any object. `describe`: it has neither.',
        }),
      ),
      json_word: bool('Whether the word JSON must occur in the input.'),
      with_tools: bool('False: a format together with tools is rejected. The prompt then describes the format.'),
      while_thinking: bool(
        'False: a format is rejected while the model reasons. The prompt then describes the format.',
      ),
      schema_streamed: bool('False: a schema is rejected in a stream. The prompt then describes the format.'),
      drop: Type.Optional(
        Type.Array(Type.String(), {
          description: 'Keywords that the schema of a format must not have. Its description says what they demand.',
        }),
      ),
    },
    'JSON formats of the output.',
  ),
  turns: closed(
    {
      system: Type.Optional(
        Type.Enum(['anywhere', 'first', 'not_last', 'user'], {
          description:
            '`first`: one system message, at the beginning; later ones become user messages. `user`: the model has none.',
        }),
      ),
      alternate: bool('Whether messages of the user and the assistant alternate. Neighbors are joined.'),
      user_first: bool('Whether the first message after the system prompt must be of the user.'),
      user_last: bool('Whether the last message must not be of the assistant.'),
      user_after_tool: bool('False: no user message may follow a result directly.'),
      prefix: Type.Optional(
        Type.Union([Type.Boolean(), Type.Literal('partial')], {
          description:
            'Whether a last message of the assistant needs `prefix: true` to be continued. `partial`: it needs `partial: true`.',
        }),
      ),
      assistant: Type.Optional(
        Type.Enum(['any', 'some', 'one'], {
          description:
            '`some`: a message of the assistant has text or calls. `one`: it has one of the two, never both.',
        }),
      ),
      blank: bool('False: texts that are empty or white space are rejected.'),
      trailing_space: bool('False: a last message of the assistant must not end with white space.'),
      user_needed: bool('Whether at least one message besides the system prompt is needed.'),
      results: bool('Whether every call needs its result, and every result its call.'),
      names: Type.Optional(
        Type.Enum(['any', 'word', 'none'], {
          description: 'The `name` of a message. `word`: letters, digits, `_`, `-`.',
        }),
      ),
      result_names: bool('Whether the message of a result has the `name` of its function.'),
      null_content: bool('False: a message with calls has an empty text, not null.'),
      object_arguments: bool(
        'Whether the arguments of an earlier call must be a JSON object. The gateway puts other text into one.',
      ),
      single_calls: bool('Whether a message has at most one call. Each of several calls gets a message of its own.'),
      whole_messages: bool(
        'Whether a message of the assistant in the Responses format needs its `id`, `status` and `annotations`.',
      ),
      billing: bool(
        'False: the block of the system prompt in which a coding agent names itself for billing (`x-anthropic-billing-header`) is left out.',
      ),
    },
    'The order and contents of messages.',
  ),
  parts: closed(
    {
      images: Type.Optional(
        Type.Enum(['anywhere', 'user', 'none'], {
          description:
            'Where images may be. `user`: images and files of results move to a user message after them. `none`: an image is a 400.',
        }),
      ),
      image_types: bool('Whether the declared type of an image must be that of its bytes.'),
      files: Type.Optional(
        Type.Enum(['send', 'data', 'text', 'none'], {
          description: '`data`: only data URLs. `text`: text files are sent as text, others are a 400.',
        }),
      ),
    },
    'Images and files.',
  ),
  reasoning_rules: closed(
    {
      not_with_tools: bool('Whether an effort other than `none` together with tools is rejected.'),
      off: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          description: 'Fields that turn reasoning off: `{enable_thinking: false}`.',
        }),
      ),
      on: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Fields that turn it on.' })),
      keep_effort: bool('Whether an effort is sent besides the fields of `on`.'),
      back: Type.Optional(
        Type.Enum(['never', 'turn', 'always'], {
          description: 'Earlier reasoning to send: none, that after the last user message, or all.',
        }),
      ),
      field: Type.Optional(
        Type.Enum(['reasoning_content', 'reasoning', 'both', 'tags'], {
          description:
            'The field of a message that has its earlier reasoning. `both`: for a server whose versions read different ones. `tags`: `<think>…</think>` before the text.',
        }),
      ),
      budget: closed(
        {
          field: Type.Optional(
            Type.String({
              minLength: 1,
              description: 'The field for a number of tokens: `thinking_budget`, `thinking.budget_tokens`.',
            }),
          ),
          needed: bool(
            'Whether reasoning needs a budget, which is less than the limit of the output. Otherwise the efforts from `high` on have none.',
          ),
          min: count('Smaller budgets become this one.', 1),
          max: count('Larger budgets become this one.', 1),
        },
        'The budget of reasoning. An effort becomes a share of the limit of the output.',
      ),
      sealed: bool('False: reasoning that a provider has encrypted or signed is not sent.'),
      by_default: bool('Whether the model reasons unless the request turns it off.'),
      signatures: bool('Whether calls have the signature of the model in `extra_content`, and need it back.'),
    },
    'Reasoning.',
  ),
  cache: closed(
    {
      max: count('Maximum number of marks.'),
      longest_first: bool('Whether marks of an hour must stand before those of five minutes.'),
      scope: bool('False: the server rejects `scope` in a mark.'),
      ttl: bool('False: the server rejects `ttl` in a mark.'),
    },
    'Marks of the prompt cache.',
  ),
  client_betas: closed(
    {
      without: Type.Optional(
        Type.Array(Type.String(), { description: 'Features that the server rejects. `*`: all of them.' }),
      ),
    },
    'Features that a client of the Messages format names in the header `anthropic-beta`.',
  ),
  answers: closed(
    {
      think_tags: bool('Whether the text contains the reasoning between `<think>` and `</think>`.'),
      think_opened: bool(
        'Whether the text begins within the reasoning, because the chat template has opened it, and contains only `</think>`.',
      ),
      marked_calls: bool('Whether the text may contain calls in the markup of Kimi: `<|tool_calls_section_begin|>`.'),
      open_end: bool('Whether a stream may end without its last event.'),
      must_stream: bool('Whether the server responds only with a stream. The gateway then streams and folds it.'),
      streams: bool('False: the server has no streams. The gateway then streams the whole response.'),
    },
    'Responses of the server.',
  ),
};

export const facetNames = Object.keys(facets) as (keyof typeof facets)[];

const ruleSchema = Type.Object(facets, { additionalProperties: false });

/** The rules of one endpoint, or a part of them. */
export type Rules = Static<typeof ruleSchema>;
export type FieldRule = Static<typeof fieldRule>;
export type Condition = Static<typeof condition>;
