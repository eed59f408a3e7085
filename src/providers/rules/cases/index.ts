import { anthropicCases } from './anthropic.ts';
import { geminiCases } from './gemini.ts';
import { hostedCases } from './hosted.ts';
import { mistralCases } from './mistral.ts';
import { openaiCases } from './openai.ts';
import { serverCases } from './servers.ts';

export const ruleCases = [
  ...anthropicCases,
  ...geminiCases,
  ...hostedCases,
  ...mistralCases,
  ...openaiCases,
  ...serverCases,
];
