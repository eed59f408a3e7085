/** The result of a call that was interrupted. */
export const NO_RESULT = 'The call was interrupted and has no result.';

/** Marks an instruction in the middle of a conversation, for a server that takes none there. */
export const INSTRUCTION = 'System: ';
