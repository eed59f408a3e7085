import { createBodyCheck, strictBody } from '../check-body.ts';

/** Rejects every field. */
export const checkNoFields = createBodyCheck(strictBody({}));
