import type { RouteApi } from '../../http/define-route.ts';
import { writeInternError } from './errors.ts';
import { internError } from './shapes.ts';

/** The settings of routes of interns. */
export interface InternRouteSettings {
  /** Milliseconds for a body to arrive. choice 783 */
  bodyMs: number;
  /** Whether the operator offers them, and the gateway can serve them. */
  isOffered: () => boolean;
}

/** The routes of interns, which belong to members of a workspace. */
export const internApi = {
  base: '/api/v1/interns',
  tag: 'Interns',
  permission: 'workspace',
  errors: writeInternError,
  error: internError,
  hasMediaTypeError: true,
  isGlobal: true,
  limitBody: ({ bodyMs }) => ({ bytes: 1_048_576, source: 'fixed for interns', ms: bodyMs }),
  isOffered: ({ isOffered }) => isOffered(),
} as const satisfies RouteApi<InternRouteSettings>;
