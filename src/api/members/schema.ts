import type { Static } from 'typebox';
import { strictBody, createBodyCheck } from '../management/check-body.ts';
import { rateLimitFields } from '../management/rate-limit-fields.ts';

const updateMember = strictBody({ ...rateLimitFields });

export type UpdateMemberBody = Static<typeof updateMember>;
export const checkUpdateMember = createBodyCheck(updateMember);
