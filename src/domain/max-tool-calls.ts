/**
 * Maximum and default of the server-tool steps of one request.
 *
 * @see docs/reference/responses.md#limits, docs/reference/responses.md#request-body
 */
export const MAX_TOOL_CALLS = 30;
