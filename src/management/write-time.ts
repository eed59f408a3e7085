export const writeTime = (ms: number): string => new Date(ms).toISOString();
export const writeNullableTime = (ms: number | null): string | null => (ms === null ? null : writeTime(ms));
