import { Type } from 'typebox';
import { internStatuses } from '../../domain/intern.ts';
import { checkNoFields } from '../../management/interns/no-fields.ts';
import { checkCreateIntern, checkDeleteIntern, checkUpdateIntern } from '../../management/interns/schema.ts';
import { intern, internError, internList } from '../bodies/interns.ts';
import type { Operation, Operations } from '../operation.ts';
import { integerParameter, textParameter, wordsParameter, workspaceUuid } from './parameters.ts';

const operation = (fields: Omit<Operation, 'tag' | 'error' | 'lacks'>): Operation => ({
  tag: 'Interns',
  error: internError,
  lacks: [503], // it is a 502 here
  ...fields,
});
const changeStatuses = [409, 415, 502];

/** The lifecycle of interns. */
export const internOperations: Operations = {
  'GET /api/v1/interns': operation({
    summary: 'List the interns',
    query: {
      limit: integerParameter('Interns of a page. 50 by default.', { minimum: 1, maximum: 500 }),
      status: wordsParameter('Statuses, with commas between them.', internStatuses),
      starting_after: textParameter('`next_cursor` of the page before.'),
      workspace_id: workspaceUuid,
    },
    response: { description: 'A page of interns, the newest first.', schema: internList },
    statuses: [502],
  }),
  'POST /api/v1/interns': operation({
    summary: 'Create an intern',
    headers: {
      'Idempotency-Key': {
        description: 'Makes a retry continue the same creation.',
        schema: Type.String({ minLength: 1, maxLength: 255 }),
      },
    },
    body: {
      schema: checkCreateIntern.schema,
      example: { name: 'scout', workspace_id: '00000000-0000-4000-8000-0000000000a1', provision: true },
    },
    response: {
      status: 201,
      description: 'The intern.',
      schema: intern,
      other: { status: 200, description: 'The intern of a completed creation that is replayed.' },
    },
    statuses: changeStatuses,
  }),
  'GET /api/v1/interns/:intern_id': operation({
    summary: 'Find an intern',
    response: { description: 'The intern.', schema: intern },
    statuses: [502],
  }),
  'PATCH /api/v1/interns/:intern_id': operation({
    summary: 'Change an intern',
    body: { schema: checkUpdateIntern.schema, example: { model: 'simulator/echo' } },
    response: { description: 'The intern.', schema: intern },
    statuses: changeStatuses,
  }),
  'DELETE /api/v1/interns/:intern_id': operation({
    summary: 'Delete an intern',
    body: { schema: checkDeleteIntern.schema, isOptional: true, example: { acknowledge_workspace_loss: true } },
    response: {
      status: 202,
      description: 'Its removal has begun.',
      schema: Type.Object({ deleting: Type.Literal(true) }),
    },
    statuses: changeStatuses,
  }),
  'POST /api/v1/interns/:intern_id/provision': operation({
    summary: 'Start an intern',
    body: { schema: checkNoFields.schema, isOptional: true },
    response: {
      status: 202,
      description: 'Its start has begun.',
      schema: Type.Object({ provisioning: Type.Literal(true) }),
    },
    statuses: changeStatuses,
  }),
  'POST /api/v1/interns/:intern_id/suspend': operation({
    summary: 'Stop an intern and keep its files',
    body: { schema: checkNoFields.schema, isOptional: true },
    response: { description: 'It has stopped.', schema: Type.Object({ suspended: Type.Literal(true) }) },
    statuses: changeStatuses,
  }),
};
