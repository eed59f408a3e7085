import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ContentFormat, foldContent } from '../../src/api/gemini/content-format.ts';
import type { GeminiFacts } from '../../src/api/gemini/content-events.ts';
import type { Chunk } from '../../src/domain/chunks.ts';
import type { LifecycleEvent } from '../../src/domain/events.ts';
import { EventBuilder } from '../../src/pipeline/events/build-events.ts';
import { createResponseObject } from '../../src/pipeline/events/response-object.ts';
import { gemini } from '../../src/providers/gemini/index.ts';
import { checkGeminiBody, readGeminiRequest } from '../../src/requests/gemini/request.ts';
import { readRecording, replayBody } from '../../src/testing/replay.ts';

type Fields = Record<string, unknown>;

/** Writes a body as the native wire sends it. */
function sendNatively(body: object, upstreamModel = 'gemini-3-pro-preview', dialect: object = {}) {
  const target = { model: 'google/gemini', stream: false };
  const { request } = readGeminiRequest(checkGeminiBody(structuredClone(body)), target, {});
  const where = { endpoint: 'a model', upstreamModel, stream: false, dialect: { ...dialect } };
  return gemini.text.writeRequest(request, where);
}

const signature = 'CiQB0e2Kb1Xo9m3sYJ7tVQ+hPz/8LrWqkD5fGcNvTb2xUyEiMZ0KbgHR7tp9Zq4w==';
const conversation = [
  {
    role: 'user',
    parts: [
      { text: 'Look' },
      { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' }, mediaResolution: { level: 'HIGH' } },
      { inlineData: { mimeType: 'audio/ogg', data: 'T2dnUw==', displayName: 'a.ogg' } },
      { inlineData: { mimeType: 'audio/mpeg', data: 'SUQz' } },
      { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc', mimeType: 'video/mp4' } },
      { fileData: { fileUri: 'https://youtu.be/abc' }, videoMetadata: { startOffset: '1s', fps: 2 } },
      { fileData: { fileUri: 'https://example.com/a.pdf', mimeType: 'application/pdf' } },
      { newKind: { a: 1 } },
    ],
  },
  {
    role: 'model',
    parts: [
      { text: 'I think', thought: true },
      { functionCall: { id: 'c1', name: 'get', args: { b: 1, a: [1.5, 'ü'] } }, thoughtSignature: signature },
      { functionCall: { name: 'get', args: {} } },
    ],
  },
  {
    role: 'user',
    parts: [
      { functionResponse: { id: 'c1', name: 'get', response: { output: 'text' } } },
      {
        functionResponse: {
          name: 'get',
          response: { result: { $ref: 'x' } },
          parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }],
          scheduling: 'SILENT',
        },
      },
    ],
  },
  {
    role: 'model',
    parts: [
      { executableCode: { language: 'PYTHON', code: 'print(1)', id: 'e1' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1', id: 'e1' } },
      { text: 'Done.', thoughtSignature: signature },
      { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' }, thoughtSignature: signature },
    ],
  },
  { role: 'user', parts: [{ functionResponse: { name: 'other', response: { output: '{"a":1}', x: 1 } } }] },
  { role: 'model', parts: [{ text: 'Hm' }, { text: '', thoughtSignature: signature }] },
  { role: 'user', parts: [{ text: 'Go on' }] },
  { role: 'model', parts: [{ text: 'Signed', thought: true, thoughtSignature: signature }, { text: 'Yes' }] },
  { role: 'user', parts: [{ text: 'And on' }] },
];

const tools = [
  {
    functionDeclarations: [
      {
        name: 'get',
        description: 'Gets',
        parameters: { type: 'OBJECT', properties: { b: { type: 'NUMBER', nullable: true } }, propertyOrdering: ['b'] },
        behavior: 'NON_BLOCKING',
      },
      { name: 'other', description: 'Others', parametersJsonSchema: { type: 'object' }, response: { type: 'STRING' } },
    ],
  },
  { googleSearch: { timeRangeFilter: { startTime: '2026-01-01T00:00:00Z' } } },
  { googleMaps: {} },
];

const generationConfig = {
  temperature: 0.5,
  topP: 0.9,
  topK: 40,
  candidateCount: 1,
  maxOutputTokens: 4096,
  stopSequences: ['END'],
  seed: 7,
  presencePenalty: 0.1,
  frequencyPenalty: 0.2,
  responseMimeType: 'application/json',
  responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
  responseLogprobs: true,
  logprobs: 3,
  thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true },
  responseModalities: ['TEXT', 'AUDIO'],
  speechConfig: { languageCode: 'de-CH' },
  mediaResolution: 'MEDIA_RESOLUTION_LOW',
};

describe('a body of the Gemini API on the native wire', () => {
  it('keeps every part, field and value', () => {
    const body = {
      systemInstruction: { parts: [{ text: 'You are' }, { text: 'brief.' }] },
      contents: conversation,
      tools,
      toolConfig: {
        functionCallingConfig: { mode: 'VALIDATED', allowedFunctionNames: ['get', 'other'] },
        retrievalConfig: { languageCode: 'de' },
      },
      generationConfig,
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      cachedContent: 'cachedContents/abc',
      labels: { team: 'a_b' },
      serviceTier: 'flex',
      newField: { snake_case: true },
    };
    const { body: sent, dropped } = sendNatively(body);
    const { newField: _, ...rest } = body;
    const { candidateCount: __, ...config } = generationConfig;
    // A system instruction has no role. One candidate is the default.
    expect(sent).toEqual({ ...rest, newField: { snakeCase: true }, generationConfig: config });
    expect(dropped).toEqual([]);
  });

  // https://github.com/sterlp/eclipse-peon-ai/issues/115, https://github.com/RooCodeInc/Roo-Code/issues/4399
  it.each<[string, object, object | undefined]>([
    ['gemini-2.5-pro', { thinkingBudget: 52_428 }, { thinkingBudget: 32_768, includeThoughts: false }],
    ['gemini-2.5-pro', { thinkingBudget: 0 }, { thinkingBudget: 128, includeThoughts: false }],
    [
      'gemini-2.5-flash',
      { thinkingLevel: 'LOW', includeThoughts: true },
      { thinkingBudget: expect.any(Number), includeThoughts: true },
    ],
    [
      'gemini-3-pro-preview',
      { thinkingLevel: 'LOW', thinkingBudget: 4096 },
      { thinkingLevel: 'low', includeThoughts: false },
    ],
    ['gemini-2.0-flash', { thinkingBudget: 512 }, undefined],
    ['gemini-2.5-pro', { thinkingBudget: -1 }, { thinkingBudget: -1 }],
    ['gemini-2.5-flash', { thinkingBudget: 0 }, { thinkingBudget: 0 }],
    ['gemini-3-pro-preview', { thinkingBudget: 4096 }, { thinkingBudget: 4096 }],
    ['gemini-3.1-pro-preview', { thinkingBudget: 0 }, { thinkingLevel: 'low', includeThoughts: false }],
    [
      'gemini-3.1-pro-preview',
      { thinkingLevel: 'MINIMAL', includeThoughts: true },
      { thinkingLevel: 'low', includeThoughts: true },
    ],
    ['gemini-3.8-flash', { thinkingLevel: 'MINIMAL' }, { thinkingLevel: 'low', includeThoughts: false }],
    ['gemini-3.8-flash', { thinkingBudget: 0 }, { thinkingBudget: 0 }],
    ['gemini-3.1-pro-preview', { thinkingLevel: 'HIGH' }, { thinkingLevel: 'HIGH' }],
    ['a-deployment', { thinkingLevel: 'LOW' }, { thinkingLevel: 'LOW' }],
  ])('asks %s for the thinking that it takes: %j', (model, thinkingConfig, sent) => {
    const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
    const { body } = sendNatively({ contents, generationConfig: { thinkingConfig } }, model);
    expect((body as { generationConfig?: Fields }).generationConfig?.['thinkingConfig']).toEqual(sent);
  });

  // https://github.com/router-for-me/CLIProxyAPI/issues/2104
  it('gets the name of a result from its call: by the id, otherwise in order', () => {
    const call = (name: string, id?: string) => ({ functionCall: { ...(id && { id }), name, args: {} } });
    const results = (parts: object[]) => ({ role: 'user', parts: parts.map((part) => ({ functionResponse: part })) });
    const { body } = sendNatively({
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'model', parts: [call('a', 'c1'), call('b', 'c2'), call('a', 'c3')] },
        results([{ id: 'c2', name: '', response: { n: 2 } }, { id: 'c3', response: { n: 3 } }, { response: { n: 1 } }]),
      ],
    });
    const sent = body as { contents: { parts: { functionResponse?: object }[] }[] };
    expect(sent.contents[2]!.parts.map(({ functionResponse: result }) => result)).toEqual([
      { id: 'c2', name: 'b', response: { n: 2 } },
      { id: 'c3', name: 'a', response: { n: 3 } },
      { name: 'a', response: { n: 1 } },
    ]);
  });

  it('reads both spellings of fields, and keeps the names of arguments and schemas', () => {
    const { body } = sendNatively({
      system_instruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ inline_data: { mime_type: 'image/png', data: 'iVBORw0KGgo=' } }] },
        { role: 'model', parts: [{ function_call: { name: 'a', args: { some_key: 1 } }, thought_signature: 'AAAA' }] },
        { role: 'user', parts: [{ function_response: { name: 'a', response: { other_key: 2 } } }] },
      ],
      tools: [{ function_declarations: [{ name: 'a', parameters_json_schema: { type: 'object' } }] }],
      tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['a'] } },
      generation_config: { max_output_tokens: 5, thinking_config: { thinking_budget: 512 }, stop_sequences: ['x'] },
      safety_settings: [],
    });
    expect(body).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }] },
        { role: 'model', parts: [{ functionCall: { name: 'a', args: { some_key: 1 } }, thoughtSignature: 'AAAA' }] },
        { role: 'user', parts: [{ functionResponse: { name: 'a', response: { other_key: 2 } } }] },
      ],
      tools: [{ functionDeclarations: [{ name: 'a', parametersJsonSchema: { type: 'object' } }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['a'] } },
      generationConfig: { maxOutputTokens: 5, thinkingConfig: { thinkingBudget: 512 }, stopSequences: ['x'] },
      safetySettings: [],
    });
  });
});

const folder = new URL('../../src/providers/gemini/recordings/', import.meta.url);
const files = readdirSync(folder);
const pairs = files.flatMap((file) => {
  const name = file.replace('.stream.http', '');
  const isPair = file !== name && files.includes(`${name}.whole.http`) && !files.includes(`${name}.request.json`);
  return isPair ? [name] : [];
});

const request = {
  contents: [{ role: 'user', parts: [{ text: 'x' }] }],
  tools: [{ googleSearch: {} }],
  generationConfig: { thinkingConfig: { includeThoughts: true } },
};

function readChunks(name: string, isStreamed: boolean): Chunk[] {
  const { readerContext } = sendNatively(request);
  const { body } = readRecording(new URL(`${name}.${isStreamed ? 'stream' : 'whole'}.http`, folder));
  return isStreamed
    ? replayBody(body, gemini.text.createReader(readerContext))
    : gemini.text.readWhole(JSON.parse(body.toString()), readerContext);
}

function build(chunks: Chunk[], isStreamed: boolean) {
  const facts: GeminiFacts = {
    rename: (text) => text,
    showsThoughts: true,
    isNative: () => true,
    readEnd: () => chunks.find((chunk) => chunk.type === 'finish')?.native,
  };
  const builder = new EventBuilder(
    {
      base: () => createResponseObject({}, 'resp_1', 0, 'acme/one'),
      model: () => 'acme/one',
      settle: () => ({ usage: null, serviceTier: null, routerMetadata: undefined }),
      now: () => 0,
      limitBytes: 1e9,
    },
    isStreamed,
  );
  return { facts, events: builder.build(chunks) };
}

type Response = { candidates: (Fields & { content: { parts?: Fields[] } })[] };

/** Joins neighbors with texts of one kind. A signature arrives after its text. */
function joinParts(parts: readonly Fields[]): Fields[] {
  const joined: Fields[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const isText = typeof part['text'] === 'string' && typeof last?.['text'] === 'string';
    const isSigned =
      part['text'] === '' && part['thoughtSignature'] !== undefined && last?.['inlineData'] !== undefined;
    if (isSigned) last!['thoughtSignature'] = part['thoughtSignature'];
    else if (isText && last['thought'] === part['thought']) {
      last['text'] = `${String(last['text'])}${String(part['text'])}`;
      if (part['thoughtSignature']) last['thoughtSignature'] = part['thoughtSignature'];
    } else if (part['text'] !== '' || part['thoughtSignature']) joined.push(structuredClone(part));
  }
  return joined.map((part) => {
    const call = part['functionCall'] as Fields | undefined;
    return call ? { ...part, functionCall: { ...call, id: 'id' } } : part;
  });
}

function foldStream(name: string): Fields {
  const { facts, events } = build(readChunks(name, true), true);
  const format = new ContentFormat(facts, true);
  const text = events.map((event) => format.write(event)).join('') + format.end;
  const responses = JSON.parse(text) as Response[];
  const parts = responses.flatMap(({ candidates }) => candidates[0]!.content.parts ?? []);
  const { content: _, ...last } = responses.at(-1)!.candidates[0]!;
  return { ...last, parts: joinParts(parts) };
}

function foldWhole(name: string): Fields {
  const { facts, events } = build(readChunks(name, false), false);
  const { candidates } = foldContent((events.at(-1) as LifecycleEvent).response, facts) as Response;
  const { content, ...rest } = candidates[0]!;
  return { ...rest, parts: joinParts(content.parts ?? []) };
}

describe('the recordings of the native wire', () => {
  it.each(pairs)('are the same streamed and buffered: %s', (name) => {
    expect(foldStream(name)).toEqual(foldWhole(name));
  });

  it.each(pairs)('lose no part and no field: %s', (name) => {
    const { body } = readRecording(new URL(`${name}.whole.http`, folder));
    const [given] = (JSON.parse(body.toString()) as Response).candidates;
    const { content, index: _, logprobsResult: __, ...rest } = given!;
    const isDraft = (part: Fields) => part['thought'] === true && part['inlineData'];
    const parts = joinParts((content.parts ?? []).filter((part) => !isDraft(part)));
    expect(foldWhole(name)).toMatchObject({ ...rest, parts });
  });
});
