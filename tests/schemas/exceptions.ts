/** Answers that differ from the newest public schema on purpose. A test fails if one is not met any more. */
export interface Exception {
  api: RegExp;
  /** Only with the wire of the same format, where the provider wrote it. */
  fromProvider?: true;
  fault: RegExp;
  why: string;
}

export const exceptions: readonly Exception[] = [
  {
    api: /^responses$/,
    fault: /^(?:response\.)?user is null, not string$/,
    why: 'OpenAI sends null, and the interface allows it. The types of the client have only the text.',
  },
  {
    api: /^responses$/,
    fault: /^response\.usage is null, not object$/,
    why: 'OpenAI sends null in the events before the end.',
  },
  {
    api: /^responses$/,
    fault: /^error\.code is \d{3}, not string or null$/,
    why: 'The interface demands the status as a number. The clients read it: tests/clients/openai-errors.test.ts.',
  },
  {
    api: /^responses$/,
    fromProvider: true,
    fault: /is \{"type":"(?:response\.)?(?:dream_call|weather_report)(?:\.deepening)?"\}, which is unknown$/,
    why: 'A newer kind passes unchanged.',
  },
  {
    api: /^responses$/,
    fromProvider: true,
    fault: /^(?:item\.action|(?:response\.)?tool_usage\.image_gen) is missing$/,
    why: 'The provider wrote the item or the field.',
  },
  {
    api: /^chat$/,
    fault: /^system_fingerprint is null, not string$/,
    why: 'OpenAI sends null, and the clients of OpenRouter require the field.',
  },
  {
    api: /^(?:chat|completions)$/,
    fault: /^choices\[\]\.finish_reason is "error", not /,
    why: 'The chunk that ends a choice after a failure. The event `error` comes before it: choice 608.',
  },
  {
    api: /^completions$/,
    fault: /^choices\[\]\.finish_reason is null, not /,
    why: 'OpenAI sends null before the end. Its types have only the end.',
  },
  {
    api: /^messages$/,
    fault: /^content(?:\[\]|_block)\.citations is missing$/,
    why: 'Anthropic omits it, and null breaks clients that add citations to the list.',
  },
  {
    api: /^messages$/,
    fault: /^content(?:\[\]|_block) is \{"type":"mcp_tool_(?:use|result)"\}, which is unknown$/,
    why: 'Only the beta types have calls of MCP servers, and no type has generated images.',
  },
  {
    api: /^messages$/,
    fault: /^error is \{"type":"request_too_large"\}, which is unknown$/,
    why: 'The documentation of Anthropic has it for the status 413.',
  },
  {
    api: /^messages$/,
    fromProvider: true,
    fault: /is missing$/,
    why: 'The provider wrote the message.',
  },
];
