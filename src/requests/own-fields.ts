/** Fields of the gateway itself with the shape and the meaning of `POST /responses`, which other text APIs copy to its request. */
export const ownFields = [
  'debug',
  'max_tool_calls',
  'models',
  'plugins',
  'preset',
  'prompt_cache_key',
  'provider',
  'route',
  'session_id',
  'stop_server_tools_when',
  'trace',
] as const;
