import type { Seen } from './seen.ts';
import type { Question } from './text-apis.ts';

/** The wires that speak to providers over HTTP. */
export type MatrixWire = 'openai-responses' | 'openai-chat' | 'anthropic-messages' | 'gemini';

/** The end of a response, whatever the word for it. */
export type End = 'done' | 'calls' | 'filtered' | 'refused';

/** The words of the APIs for an end. */
export const ends: Readonly<Record<End, Readonly<Record<string, string>>>> = {
  done: { responses: 'completed', 'chat completions': 'stop', messages: 'end_turn' },
  calls: { responses: 'completed', 'chat completions': 'tool_calls', messages: 'tool_use' },
  filtered: {
    responses: 'incomplete: content_filter',
    'chat completions': 'content_filter',
    messages: 'refusal',
  },
  refused: { responses: 'completed', 'chat completions': 'stop', messages: 'refusal' },
};

/** What a question becomes at a wire, and what its recorded response becomes for the clients of all three APIs. */
export interface Cell {
  recording: string;
  /** A part of the body that the provider gets. The three APIs send the same. */
  sent: object;
  /** Differences of what one API sends. */
  sentBy?: Readonly<Record<string, object>>;
  /** Fields that the wire has no place for, by the names of each API. Absent: all APIs report none. */
  dropped?: Readonly<Record<string, string[]>>;
  seen: Partial<Omit<Seen, 'end' | 'raw'>>;
  /** Differences of what clients of one API see, because its format has no place for something. */
  seenBy?: Readonly<Record<string, Partial<Seen>>>;
  end: End;
  /** Values that the provider gets back in the next turn, to the letter. */
  returned?: readonly string[];
  /** What the protocol cannot carry: the question is a 400 that names this field. */
  refuses?: { ask: Partial<Question>; why: string; field: string };
}

export interface FeatureRow {
  question: Question;
  cells: Readonly<Record<MatrixWire, Cell>>;
}

const nothing: Partial<Seen> = { reasoning: '', opaque: [], calls: [], images: [], cited: [], refusal: '' };
const tool = { name: 'get_weather', description: 'The weather of a city', schema: { type: 'object', properties: {} } };
const answerSchema = {
  type: 'object',
  properties: { n: { type: 'integer' } },
  required: ['n'],
  additionalProperties: false,
};
/** A field of one text has an empty line between two parts. */
const separateParts = {
  reasoning:
    '**Counting the primes**\n\nI list the primes below twenty and add them.\n\n**Checking**\n\nThe sum is 77.',
};

const sealingEffort = { reasoning: { effort: 'high' }, include: ['reasoning.encrypted_content'] };
const rhine = 'The Rhine rises in the Alps and ends, 1,230 km later, in the North Sea.';
const gateway = 'A gateway stands between those who ask and those who answer.';
const tide = 'The tide turns at noon.';
const pngUrl = 'https://a.example/b.png';
const png = 'iVBORw0KGgo=';
const pdfUrl = 'https://a.example/b.pdf';
const pdf = 'JVBE';
const claudeSeal =
  'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds5fLZpXnq8Wr0V2ZcKQ7d9hTuJmE4xYbN6oPsLa3iGfRwHvCk1SeUyBtMqXzD0nQ';
const geminiSeal = 'CiQB0e2Kb1Xo9m3sYJ7tVQ+hPz/8LrWqkD5fGcNvTb2xUyEiMZ0KbgHR7tp9Zq4w==';
const chatSeal = 'EqoBCkgIa543997d84f12798350c09bdef2cdb171bf41ed3e4a5f808af2feb0c56263009==';
const openaiSeal =
  'gAAAAABBKOdMxOkdnw6C7gYJLJoXToTFYRHYPRrdD9aaGWCbNSKVIryAOU6FUXiCP6SUOBaWIYde/CJBSiFaMbRR+jIOw1YRX6oHh24MLeISyizWN5nRBQLGeLfH4sjVnuyLub6NISiEdUqBo8SP/p1bnE4VUUIBtSYPtToAOqTDqrHFLoTb84UMZGGFco+WgCWdYepFkElcQLxW0JoBvZ4X4FIL49zZx4nQbjLS4ifQ53jd2PXCwS7';
const kite =
  'iVBORw0KGgoCGtiGZTqMUdtb8bPJ9+KUjnyVmg6aAziBlhqH/FSfk+1DxZAM/lwMuh7JHaPQA0Tc1tHV39rVdq/blWDWlL3RpVbcVHvELTzMRWnGq3mPB8eOfeRQpbtJHkZQy3VT2nhGKL9VHvpYVQACMQwIiigHZ/rGLE/MD2eZ4esVlOiCPgqanYSK1V1ewkBZyOdMgAJQsIFaCJRcUqtS4HZDGeVFYChUGZYXYreV8S2EjWuL99GfviZJHdUWmb0FC4UGba0RzZvJSaqFUKSQdRaSGodGASJEayFZo5serNiMjzqbzvSAnSaLpHCLIzyFb86Yhfi';
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==';
const geminiDot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A message has no images: the item is sealed in a block, and `returned` shows that it comes back. */
const imageInBlock = { messages: { images: [] } };
const citesMatterhorn = ['https://peaks.example/matterhorn', 'https://alps.example/list'];
const citesEiger = ['https://peaks.example/eiger', 'https://peaks.example/eiger', 'https://bern.example/oberland'];
const sameForAll = (...names: string[]) => ({ responses: names, 'chat completions': names, messages: names });

/** The rows of the matrix whose responses end. */
export const features: Readonly<Record<string, FeatureRow>> = {
  text: {
    question: { system: 'Be brief.', parts: ['Hello'] },
    cells: {
      'openai-responses': {
        recording: 'text',
        sent: { model: 'gpt-5-mini', max_output_tokens: 4096, store: false },
        sentBy: {
          responses: { instructions: 'Be brief.' },
          'chat completions': { input: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }] },
          messages: { instructions: 'Be brief.' },
        },
        seen: { ...nothing, text: gateway, usage: [14, 16] },
        end: 'done',
        returned: [gateway],
      },
      'openai-chat': {
        recording: 'text',
        sent: {
          max_completion_tokens: 4096,
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'user', content: 'Hello' },
          ],
        },
        seen: { ...nothing, text: tide, usage: [14, 9] },
        end: 'done',
        returned: [tide],
      },
      'anthropic-messages': {
        recording: 'text',
        sent: {
          max_tokens: 4096,
          system: [{ type: 'text', text: 'Be brief.' }],
          messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
        },
        seen: { ...nothing, text: rhine, usage: [21, 24] },
        end: 'done',
        returned: [rhine],
      },
      gemini: {
        recording: 'text',
        sent: {
          systemInstruction: { parts: [{ text: 'Be brief.' }] },
          contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
          generationConfig: { maxOutputTokens: 4096 },
        },
        seen: { ...nothing, text: rhine, usage: [12, 20] },
        end: 'done',
        returned: [rhine],
      },
    },
  },
  reasoning: {
    question: { parts: ['Think'], effort: 'high' },
    cells: {
      'openai-responses': {
        recording: 'reasoning-summary',
        sent: { reasoning: { effort: 'high' } },
        // Clients of these APIs have no field that requests encrypted reasoning.
        sentBy: { 'chat completions': sealingEffort, messages: sealingEffort },
        seen: {
          ...nothing,
          text: 'The sum is 77.',
          reasoning:
            '**Counting the primes**\n\nI list the primes below twenty and add them.**Checking**\n\nThe sum is 77.',
          opaque: [openaiSeal],
          usage: [23, 410],
        },
        seenBy: { 'chat completions': separateParts, messages: separateParts },
        end: 'done',
        returned: [
          openaiSeal,
          'rs_5efe692c50e52237b16fa48d3a06393004754b8c0118ea9d',
          '**Checking**\\n\\nThe sum is 77.',
        ],
      },
      'openai-chat': {
        recording: 'reasoning-details',
        sent: { reasoning_effort: 'high' },
        seen: {
          ...nothing,
          text: 'There are four.',
          reasoning: 'Primes below ten: 2, 3, 5, 7.',
          opaque: [chatSeal],
          usage: [44, 39],
        },
        seenBy: { messages: { usage: [12, 39] } }, // 32 of them were written to the cache
        end: 'done',
        returned: [chatSeal, 'Primes below ten: 2, 3, 5, 7.', 'anthropic-claude-v1'],
      },
      'anthropic-messages': {
        recording: 'thinking',
        sent: { thinking: { type: 'enabled', budget_tokens: 3276 } },
        sentBy: { messages: { output_config: { effort: 'high' } } },
        seen: {
          ...nothing,
          text: '17 × 23 = 391.',
          reasoning: '17 × 23: twenty times 17 is 340, three times 17 is 51. Together 391.',
          opaque: [claudeSeal],
          usage: [38, 77],
        },
        end: 'done',
        returned: [claudeSeal, '17 × 23: twenty times 17 is 340, three times 17 is 51. Together 391.'],
      },
      gemini: {
        recording: 'signed-text',
        sent: { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingLevel: 'high' } } },
        seen: {
          ...nothing,
          text: 'It is 42.',
          reasoning: 'Let me say it plainly.',
          opaque: [geminiSeal],
          usage: [12, 20],
        },
        end: 'done',
        returned: [geminiSeal, 'It is 42.'],
      },
    },
  },
  tools: {
    question: { parts: ['Weather?'], tools: [tool], needsOneCall: true },
    cells: {
      'openai-responses': {
        recording: 'function-call',
        sent: {
          tools: [{ type: 'function', name: 'get_weather', description: tool.description, parameters: tool.schema }],
          tool_choice: 'required',
          parallel_tool_calls: false,
        },
        seen: {
          ...nothing,
          text: '',
          calls: [{ id: 'call_30d6b94dcaf574108138551d', name: 'weather', input: { city: 'Zürich', unit: 'c' } }],
          usage: [58, 21],
        },
        end: 'calls',
        returned: ['{\\"city\\":\\"Zürich\\",\\"unit\\":\\"c\\"}', 'call_30d6b94dcaf574108138551d'],
      },
      'openai-chat': {
        recording: 'tool-call',
        sent: {
          tools: [
            {
              type: 'function',
              function: { name: 'get_weather', description: tool.description, parameters: tool.schema },
            },
          ],
          tool_choice: 'required',
          parallel_tool_calls: false,
        },
        seen: {
          ...nothing,
          text: '',
          calls: [{ id: 'call_d0f631ca1ddba8db3bcfcb9e', name: 'get_weather', input: { city: 'Zürich', days: 3 } }],
          usage: [61, 19],
        },
        end: 'calls',
        returned: ['"tool_call_id":"call_d0f631ca1ddba8db3bcfcb9e"', '{\\"city\\":\\"Zürich\\",\\"days\\":3}'],
      },
      'anthropic-messages': {
        recording: 'thinking-then-call',
        sent: {
          tools: [{ name: 'get_weather', description: tool.description, input_schema: tool.schema }],
          tool_choice: { type: 'any', disable_parallel_tool_use: true },
        },
        seen: {
          ...nothing,
          text: 'Let me look.',
          reasoning: 'I need the weather before I can answer.',
          opaque: [claudeSeal],
          calls: [{ id: 'toolu_01Rt5yUi8oPa2sDf4gHj6kLz', name: 'get_weather', input: { city: 'Bern', days: 2 } }],
          usage: [420, 130],
        },
        end: 'calls',
        returned: [claudeSeal, '"tool_use_id":"toolu_01Rt5yUi8oPa2sDf4gHj6kLz"', '{"city":"Bern","days":2}'],
      },
      gemini: {
        recording: 'tool-call-signed',
        sent: {
          tools: [
            {
              functionDeclarations: [
                { name: 'get_weather', description: tool.description, parametersJsonSchema: tool.schema },
              ],
            },
          ],
          toolConfig: { functionCallingConfig: { mode: 'ANY' } },
        },
        dropped: {
          ...sameForAll('parallel_tool_calls'),
          messages: ['tool_choice.disable_parallel_tool_use'],
        },
        seen: {
          ...nothing,
          text: '',
          reasoning: 'I should look up the weather first.',
          opaque: [geminiSeal],
          calls: [{ id: 'fc_8123', name: 'get_weather', input: { city: 'Bern', days: 2 } }],
          usage: [80, 85],
        },
        end: 'calls',
        returned: [
          `"functionCall":{"id":"fc_8123","name":"get_weather","args":{"city":"Bern","days":2}},"thoughtSignature":"${geminiSeal}"`,
        ],
      },
    },
  },
  'parallel tools': {
    question: { parts: ['Weather and time?'], tools: [tool] },
    cells: {
      'openai-responses': {
        recording: 'parallel-calls',
        sent: { tools: [{ name: 'get_weather' }] },
        seen: {
          ...nothing,
          text: 'I look both up.',
          calls: [
            { id: 'call_656cd16e96c83723584edca8', name: 'weather', input: { city: 'Oslo' } },
            { id: 'call_3f23b8144588010b18549d03', name: 'clock', input: { city: 'Lima', seconds: false } },
          ],
          usage: [96, 48],
        },
        seenBy: { messages: { usage: [0, 48] } }, // all of them are in the counts of the cache
        end: 'calls',
        returned: ['{\\"city\\":\\"Oslo\\"}', '{\\"city\\":\\"Lima\\",\\"seconds\\":false}'],
      },
      'openai-chat': {
        recording: 'parallel-tool-calls',
        sent: { tools: [{ function: { name: 'get_weather' } }] },
        seen: {
          ...nothing,
          text: 'I will look at all three.',
          calls: [
            { id: 'call_169b5b823c62b64ca7e5f845', name: 'get_weather', input: { city: 'Bern' } },
            { id: 'call_f64551fcd6f07823cb87971c', name: 'get_weather', input: { city: 'Olten' } },
            { id: 'call_3946ca64ff78d93ca61090a4', name: 'now', input: {} },
          ],
          usage: [75, 44],
        },
        end: 'calls',
        returned: ['{\\"city\\":\\"Bern\\"}', '{\\"city\\":\\"Olten\\"}', '"name":"now","arguments":"{}"'],
      },
      'anthropic-messages': {
        recording: 'parallel-tool-calls',
        sent: { tools: [{ name: 'get_weather' }] },
        seen: {
          ...nothing,
          text: 'I look at both.',
          calls: [
            { id: 'toolu_01Fh2mVx8sQpLr4tYw6BzKcN', name: 'get_weather', input: { city: 'Bern', days: 1 } },
            { id: 'toolu_01Jk7nWd3gTqMs9vZx5CyLbP', name: 'get_time', input: {} },
          ],
          usage: [430, 98],
        },
        end: 'calls',
        returned: ['"input":{"city":"Bern","days":1}', '"name":"get_time","input":{}'],
      },
      gemini: {
        recording: 'parallel-tool-calls',
        sent: { tools: [{ functionDeclarations: [{ name: 'get_weather' }] }] },
        seen: {
          ...nothing,
          text: 'I look at both.',
          opaque: [geminiSeal],
          calls: [
            { id: 'made by the gateway', name: 'get_weather', input: { city: 'Bern', days: 1 } },
            { id: 'made by the gateway', name: 'get_time', input: {} },
          ],
          usage: [90, 40],
        },
        end: 'calls',
        returned: [
          `"name":"get_weather","args":{"city":"Bern","days":1}},"thoughtSignature":"${geminiSeal}"`,
          '"name":"get_time","args":{}',
        ],
      },
    },
  },
  images: {
    question: { parts: ['Look', { image: `data:image/png;base64,${png}` }, { image: pngUrl }] },
    cells: {
      'openai-responses': {
        recording: 'image-generation',
        sent: {
          input: [
            {
              content: [
                { type: 'input_text', text: 'Look' },
                { type: 'input_image', image_url: `data:image/png;base64,${png}` },
                { type: 'input_image', image_url: pngUrl },
              ],
            },
          ],
        },
        seen: { ...nothing, text: '', images: [kite], usage: [2310, 71] },
        seenBy: imageInBlock,
        end: 'done',
        returned: [kite, pngUrl],
      },
      'openai-chat': {
        recording: 'image',
        sent: {
          messages: [
            {
              content: [
                { type: 'text', text: 'Look' },
                { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
                { type: 'image_url', image_url: { url: pngUrl } },
              ],
            },
          ],
        },
        seen: { ...nothing, text: 'Here is a red dot.', images: [dot], usage: [7, 1295] },
        seenBy: imageInBlock,
        end: 'done',
        returned: [`data:image/png;base64,${dot}`, pngUrl],
      },
      'anthropic-messages': {
        recording: 'text',
        sent: {
          messages: [
            {
              content: [
                { type: 'text', text: 'Look' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
                { type: 'image', source: { type: 'url', url: pngUrl } },
              ],
            },
          ],
        },
        seen: { ...nothing, text: rhine, usage: [21, 24] },
        end: 'done',
        returned: [pngUrl],
        refuses: { ask: { wantsImage: true }, why: 'models of this protocol draw no images', field: 'modalities' },
      },
      gemini: {
        recording: 'image',
        sent: {
          contents: [
            {
              parts: [
                { text: 'Look' },
                { inlineData: { mimeType: 'image/png', data: png } },
                { fileData: { mimeType: 'image/png', fileUri: pngUrl } },
              ],
            },
          ],
        },
        seen: { ...nothing, text: 'Here it is.', images: [geminiDot], usage: [10, 1294] },
        seenBy: imageInBlock,
        end: 'done',
        returned: [`"inlineData":{"mimeType":"image/png","data":"${geminiDot}"}`],
      },
    },
  },
  files: {
    question: { parts: ['Read', { pdf: `data:application/pdf;base64,${pdf}` }, { pdf: pdfUrl }] },
    cells: {
      'openai-responses': {
        recording: 'text',
        sent: {
          input: [
            {
              content: [
                { type: 'input_text', text: 'Read' },
                { type: 'input_file', file_data: `data:application/pdf;base64,${pdf}` },
                { type: 'input_file', file_url: pdfUrl },
              ],
            },
          ],
        },
        seen: { ...nothing, text: gateway, usage: [14, 16] },
        end: 'done',
        returned: [pdfUrl],
      },
      'openai-chat': {
        recording: 'text',
        sent: {
          messages: [
            {
              content: [
                { type: 'text', text: 'Read' },
                { type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}` } },
                { type: 'file', file: { file_data: pdfUrl } },
              ],
            },
          ],
        },
        seen: { ...nothing, text: tide, usage: [14, 9] },
        end: 'done',
        returned: [pdfUrl],
      },
      'anthropic-messages': {
        recording: 'text',
        sent: {
          messages: [
            {
              content: [
                { type: 'text', text: 'Read' },
                { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pdf } },
                { type: 'document', source: { type: 'url', url: pdfUrl } },
              ],
            },
          ],
        },
        seen: { ...nothing, text: rhine, usage: [21, 24] },
        end: 'done',
        returned: [pdfUrl],
      },
      gemini: {
        recording: 'text',
        sent: {
          contents: [
            {
              parts: [
                { text: 'Read' },
                { inlineData: { mimeType: 'application/pdf', data: pdf } },
                { fileData: { mimeType: 'application/pdf', fileUri: pdfUrl } },
              ],
            },
          ],
        },
        // The protocol has no names. A message has none either.
        dropped: {
          responses: ['input[0].content[1].filename'],
          'chat completions': ['messages[0].content[1].file.filename'],
          messages: [],
        },
        seen: { ...nothing, text: rhine, usage: [12, 20] },
        end: 'done',
        returned: [pdfUrl],
      },
    },
  },
  'structured output': {
    question: { parts: ['Count'], answerSchema },
    cells: {
      'openai-responses': {
        recording: 'structured-output',
        sent: { text: { format: { type: 'json_schema', schema: answerSchema, strict: true } } },
        seen: { ...nothing, text: '{"name":"Ada Lovelace","born":1815}', usage: [64, 15] },
        end: 'done',
      },
      'openai-chat': {
        recording: 'structured-output',
        sent: {
          response_format: { type: 'json_schema', json_schema: { schema: answerSchema, strict: true } },
        },
        seen: { ...nothing, text: '{"city":"Zürich","altitude_m":408}', usage: [48, 17] },
        end: 'done',
      },
      'anthropic-messages': {
        recording: 'structured-output',
        sent: { output_config: { format: { type: 'json_schema', schema: answerSchema } } },
        seen: { ...nothing, text: '{"city":"Bern","days":[{"min":-2,"max":7}]}', usage: [201, 32] },
        end: 'done',
      },
      gemini: {
        recording: 'structured-output',
        sent: { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: answerSchema } },
        seen: { ...nothing, text: '{"city":"Bern","days":[{"min":-2,"max":7}]}', usage: [12, 20] },
        end: 'done',
      },
    },
  },
  citations: {
    question: { parts: ['How high?'], searches: true },
    cells: {
      'openai-responses': {
        recording: 'web-search',
        sent: { tools: [{ type: 'web_search' }] },
        seen: {
          ...nothing,
          text: 'The Matterhorn is 4478 m high (peaks.example); see also (alps.example).',
          cited: citesMatterhorn,
          usage: [8421, 66],
        },
        end: 'done',
      },
      'openai-chat': {
        recording: 'citations',
        // The protocol has no such tool. The gateway searches itself, unless the operator has no search engine.
        sent: { messages: [{ content: 'How high?' }] },
        dropped: {
          ...sameForAll('tools[0] (web_search)'),
          'chat completions': ['web_search_options (web_search)'],
        },
        seen: {
          ...nothing,
          text: 'High water is at noon [1].',
          cited: ['https://tides.example/noon', 'https://sea.example/'],
          usage: [6, 12],
        },
        end: 'done',
      },
      'anthropic-messages': {
        recording: 'citations',
        sent: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
        seen: {
          ...nothing,
          text: 'The report says two things. Sales rose by 4% and costs fell.',
          cited: ['Report 2026', ''],
          usage: [3210, 52],
        },
        end: 'done',
      },
      gemini: {
        recording: 'grounding',
        sent: { tools: [{ googleSearch: {} }] },
        seen: {
          ...nothing,
          text: 'Der Eiger ist 3967 m hoch – größer als gedacht. Er steht im Berner Oberland.',
          cited: citesEiger,
          usage: [109, 30],
        },
        end: 'done',
      },
    },
  },
  refusal: {
    question: { parts: ['Attack'] },
    cells: {
      'openai-responses': {
        recording: 'refusal',
        sent: { input: [{ role: 'user' }] },
        seen: { ...nothing, text: '', refusal: 'I’m sorry, I cannot help with that.', usage: [31, 11] },
        seenBy: { messages: { text: 'I’m sorry, I cannot help with that.', refusal: '' } },
        end: 'refused',
        returned: ['I’m sorry, I cannot help with that.'],
      },
      'openai-chat': {
        recording: 'refusal',
        sent: { messages: [{ role: 'user' }] },
        seen: { ...nothing, text: '', refusal: 'I’m sorry, but I can’t help with that.', usage: [31, 14] },
        seenBy: { messages: { text: 'I’m sorry, but I can’t help with that.', refusal: '' } },
        end: 'refused',
        returned: ['I’m sorry, but I can’t help with that.'],
      },
      'anthropic-messages': {
        recording: 'refusal-explained',
        sent: { messages: [{ role: 'user' }] },
        seen: {
          ...nothing,
          text: 'I cannot',
          refusal: 'Declined: the request could help an attack on a network.',
          usage: [44, 3],
        },
        end: 'filtered',
        returned: ['I cannot'],
      },
      gemini: {
        recording: 'safety', // the protocol has no refusals: its filter stops the output
        sent: { contents: [{ role: 'user' }] },
        seen: { ...nothing, text: 'First you', usage: [12, 20] },
        end: 'filtered',
        returned: ['First you'],
      },
    },
  },
};

/** The words of each wire for an overloaded provider, as `overloaded.http` has them. */
export const overloads: Readonly<Record<MatrixWire, string>> = {
  'openai-responses': 'The server is overloaded or not ready yet.',
  'openai-chat': 'That model is currently overloaded with other requests.',
  'anthropic-messages': 'Overloaded',
  gemini: 'The model is overloaded. Please try again later.',
};

/** The text of each recording `text`, for a stream that is cut. */
export const cutTexts: Readonly<Record<MatrixWire, string>> = {
  'openai-responses': gateway,
  'openai-chat': tide,
  'anthropic-messages': rhine,
  gemini: rhine,
};
