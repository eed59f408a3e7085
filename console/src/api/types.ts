import type { Ok, Query } from './client.ts';

/** A request in the list, or with all its parts. */
export type Generation = Ok<'/api/v1/generations', 'get'>['data'][number];
export type GenerationsQuery = Query<'/api/v1/generations', 'get'>;
export type GenerationsPage = Ok<'/api/v1/generations', 'get'>;
export type Attempt = Generation['attempts'][number];
export type ToolCall = Generation['tool_calls'][number];
export type Stage = Generation['pipeline'][number];
export type Key = Ok<'/api/v1/keys', 'get'>['data'][number];
export type Workspace = Ok<'/api/v1/workspaces', 'get'>['data'][number];
export type Member = Ok<'/api/v1/members', 'get'>['data'][number];
export type Budget = Ok<'/api/v1/workspaces/{id}/budgets', 'get'>['data'][number];
export type SpendRow = Ok<'/api/v1/analytics', 'get'>['data'][number];
export type AnalyticsQuery = Query<'/api/v1/analytics', 'get'>;
export type Alert = Ok<'/api/v1/alerts', 'get'>['data'][number];
export type AuditEntry = Ok<'/api/v1/audit', 'get'>['data'][number];

/** @returns the tags of a request. The generator of the types knows only that they are an object */
export const tagsOf = ({ tags }: Pick<Generation, 'tags'>): [name: string, value: string][] =>
  Object.entries(tags as Record<string, string>);
