import type { Static } from 'typebox';
import { strictBody, createBodyCheck } from '../check-body.ts';
import { rateLimitFields } from '../rate-limit-fields.ts';

const updateMember = strictBody({ ...rateLimitFields });

export type UpdateMemberBody = Static<typeof updateMember>;
export const checkUpdateMember = createBodyCheck(updateMember);
