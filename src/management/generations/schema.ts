import { Type } from 'typebox';
import { maybe } from '../../schema/shapes.ts';
import { createBodyCheck, plainText, strictBody } from '../check-body.ts';

/** Any word is a category. */
const feedback = strictBody({
  generation_id: plainText({ minLength: 1, maxLength: 256 }),
  category: plainText({ minLength: 1, maxLength: 100 }),
  comment: maybe(Type.String({ maxLength: 10_000 })),
});

export const checkFeedback = createBodyCheck(feedback);
