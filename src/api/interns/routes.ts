import { Type } from 'typebox';
import { internStatuses } from '../../domain/intern.ts';
import { routesOf } from '../../http/define-route.ts';
import { checkNoFields } from '../../management/interns/no-fields.ts';
import { checkCreateIntern, checkDeleteIntern, checkUpdateIntern } from '../../management/interns/schema.ts';
import { integerParameter, textParameter, wordsParameter, workspaceUuid } from '../../openapi/parameters.ts';
import { type InternRouteSettings, internApi } from './api.ts';
import type { createInternHandlers } from './handlers.ts';
import { intern, internList } from './shapes.ts';

export interface InternRouteParts extends ReturnType<typeof createInternHandlers>, InternRouteSettings {}

const route = routesOf<InternRouteParts>({ ...internApi, lacks: [503] }); // it is a 502 here

const changeStatuses = [409, 415, 502];

/** The lifecycle of interns. @see docs/reference/interns.md */
export const internRoutes = [
  route('GET', '', {
    id: 'listInterns',
    summary: 'List the interns',
    query: {
      limit: integerParameter('Interns of a page. 50 by default.', { minimum: 1, maximum: 500 }),
      status: wordsParameter('Statuses, with commas between them.', internStatuses),
      starting_after: textParameter('`next_cursor` of the page before.'),
      workspace_id: workspaceUuid,
    },
    response: { description: 'A page of interns, the newest first.', schema: internList },
    statuses: [502],
    takesInterns: true,
    open: ({ listInterns }) => listInterns,
  }),
  route('POST', '', {
    id: 'createIntern',
    summary: 'Create an intern',
    headers: {
      'Idempotency-Key': {
        description: 'Makes a retry continue the same creation.',
        schema: Type.String({ minLength: 1, maxLength: 255 }),
      },
    },
    body: {
      check: checkCreateIntern,
      example: { name: 'scout', workspace_id: '00000000-0000-4000-8000-0000000000a1', provision: true },
    },
    response: {
      status: 201,
      description: 'The intern.',
      schema: intern,
      other: { status: 200, description: 'The intern of a completed creation that is replayed.' },
    },
    statuses: changeStatuses,
    takesInterns: true,
    open: ({ createIntern }) => createIntern,
  }),
  route('GET', '/:intern_id', {
    id: 'findIntern',
    summary: 'Find an intern',
    response: { description: 'The intern.', schema: intern },
    statuses: [502],
    takesInterns: true,
    open: ({ findIntern }) => findIntern,
  }),
  route('PATCH', '/:intern_id', {
    id: 'updateIntern',
    summary: 'Change an intern',
    body: { check: checkUpdateIntern, example: { model: 'simulator/echo' } },
    response: { description: 'The intern.', schema: intern },
    statuses: changeStatuses,
    open: ({ updateIntern }) => updateIntern,
  }),
  route('DELETE', '/:intern_id', {
    id: 'deleteIntern',
    summary: 'Delete an intern',
    body: { check: checkDeleteIntern, isOptional: true, example: { acknowledge_workspace_loss: true } },
    response: {
      status: 202,
      description: 'Its removal has begun.',
      schema: Type.Object({ deleting: Type.Literal(true) }),
    },
    statuses: changeStatuses,
    bodyIsOptional: true,
    open: ({ deleteIntern }) => deleteIntern,
  }),
  route('POST', '/:intern_id/provision', {
    id: 'provisionIntern',
    summary: 'Start an intern',
    body: { check: checkNoFields, isOptional: true },
    response: {
      status: 202,
      description: 'Its start has begun.',
      schema: Type.Object({ provisioning: Type.Literal(true) }),
    },
    statuses: changeStatuses,
    bodyIsOptional: true,
    open: ({ provisionIntern }) => provisionIntern,
  }),
  route('POST', '/:intern_id/suspend', {
    id: 'suspendIntern',
    summary: 'Stop an intern and keep its files',
    body: { check: checkNoFields, isOptional: true },
    response: { description: 'It has stopped.', schema: Type.Object({ suspended: Type.Literal(true) }) },
    statuses: changeStatuses,
    bodyIsOptional: true,
    open: ({ suspendIntern }) => suspendIntern,
  }),
];
