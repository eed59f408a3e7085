import type { ScriptedRequest } from '../../src/testing/scripted-upstream.ts';
import type { Turn } from '../clients/turn.ts';
import { call, type Served, shownItems, type ToolLab, type WireName } from './lab.ts';

/* Scripts for fusion. The models of a panel run at the same time, so each turn is scripted by its request. */

export const analysis = {
  consensus: ['It is blue.'],
  contradictions: [{ topic: 'Why', stances: [{ model: 'acme/gemini', stance: 'Scattering.' }] }],
  partial_coverage: [{ models: ['acme/gemini'], point: 'Sunsets.' }],
  unique_insights: [{ model: 'acme/gemini', insight: 'Ozone.' }],
  blind_spots: ['Other planets.'],
};

export type PanelRole = 'outer' | 'member' | 'analyst';

/** The role of a request. Only the outer model sees the tool. */
export function roleOf({ text }: ScriptedRequest): PanelRole {
  if (text.includes('You compare the answers')) return 'analyst';
  return text.includes('"router_fusion"') ? 'outer' : 'member';
}

/** Whether the outer model has the result of its call. */
const hasResult = ({ text }: ScriptedRequest): boolean =>
  text.includes('blind_spots') || /\\?"status\\?":\s*\\?"(ok|error)/.test(text);

export interface PanelScript {
  outer?: Turn;
  member?: (wire: WireName, request: ScriptedRequest) => Turn;
  analyst?: Turn;
}

export const fusing: Turn = { calls: [call('router_fusion', { prompt: 'Why is the sky blue?' })] };

/** Scripts a lab. @param seen receives the requests at both servers, in the order of their arrival */
export const playPanel = (
  lab: ToolLab,
  seen: ScriptedRequest[],
  { outer = fusing, member = (wire) => ({ text: `Blue, says ${wire}.` }), analyst }: PanelScript,
): void =>
  lab.answer((request, wire) => {
    seen.push(request);
    const role = roleOf(request);
    if (role === 'outer') return hasResult(request) ? { text: 'It scatters.' } : outer;
    return role === 'member' ? member(wire, request) : (analyst ?? { text: JSON.stringify(analysis) });
  });

/** The item of the panel. */
export const panelItemOf = (served: Served) => shownItems(served).find(({ type }) => type === 'router:fusion');
