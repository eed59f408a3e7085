import type { RuleCase } from './case.ts';

export const openaiCases: RuleCase[] = [{ rules: 'gpt-5/stop', request: { stop: ['END'] }, without: ['stop'] }];
