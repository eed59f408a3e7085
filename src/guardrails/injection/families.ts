/** One pattern of the detector. `~` is the gap between words, `%` a word boundary. */
interface Family {
  id: string;
  source: string;
  isCaseSensitive?: boolean;
}

const any = (...words: string[]): string => `(?:${words.join('|')})`;

/** Words before the noun that neither make nor break a match. */
const filler = any('all', 'any', 'every', 'each', 'the', 'these', 'those', 'this', 'of', 'my', 'your', 'our', 'other');
const earlier = any(
  'previous',
  'prior',
  'above',
  'preceding',
  'earlier',
  'former',
  'foregoing',
  'initial',
  'original',
  'existing',
  'past',
  'system',
  'safety',
  'security',
  'developer',
  'all',
  'any',
  'your',
  'everything',
);
const noun = any(
  'instructions?',
  'rules?',
  'guidelines?',
  'constraints?',
  'directives?',
  'prompts?',
  'commands?',
  'orders?',
  'directions?',
  'restrictions?',
  'polic(?:y|ies)',
  'guardrails?',
  'programming',
  'training',
  'system~messages?',
);
const object = `(?:${filler}~){0,3}${earlier}~(?:(?:${filler}|${earlier}|and|or)~){0,4}${noun}%`;
const objectBefore = `(?:${filler}~){0,3}${noun}~(?:that~)?${any('above', 'before', 'given', 'previously', 'you~(?:were|have|received)', 'came~before')}%`;
const everythingBefore = `${any('everything', 'anything', 'all', 'what')}~(?:that~)?(?:was~|is~|came~|you~were~told~|i~said~|said~|written~)?${any('above', 'before', 'previously', 'prior')}%`;
const target = any(object, objectBefore, everythingBefore);
const protection = any(
  'filters?',
  'measures?',
  'guidelines?',
  'polic(?:y|ies)',
  'protocols?',
  'restrictions?',
  'guardrails?',
  'rules?',
);
const guarded = `(?:(?:the|your|all|any|of|its|every)~){0,3}${any('safety', 'security', 'content', 'ethical', 'ethics', 'moderation')}~(?:(?:and|or|content|safety|security|ethical)~){0,3}${protection}%`;
const yours = any('your', 'yuor', 'yoru', 'ur');
const your = any(yours, 'the', 'its', 'this');
const system = any('system', 'sytem', 'systm', 'sysem', 'systme');
const secretPrompt = `(?:${your}~)?(?:${any('full', 'hidden', 'secret', 'entire', 'complete', 'exact', 'original', 'initial', 'internal', 'actual', 'underlying')}~){0,2}`;
const promptNoun = any(
  `${system}~(?:prompts?|instructions?|messages?)`,
  'prompt',
  '(?:initial|original|hidden|secret)~instructions?',
);

/** "The prompt" alone is a word of many programs: it must be yours, or be named more closely. */
const namedPrompt = any(
  `${your}~${any('full', 'hidden', 'secret', 'entire', 'complete', 'exact', 'original', 'initial', 'internal', 'underlying')}~${promptNoun}`,
  `${yours}~(?:${any('full', 'hidden', 'secret', 'entire', 'complete', 'exact', 'original', 'initial', 'internal', 'own', 'system')}~){0,2}(?:prompt|instructions|guidelines|rules)`,
  `(?:${your}~)?${system}~(?:prompts?|instructions)`,
  `(?:full|hidden|secret|entire|initial)~${promptNoun}`,
);
const givenRules = `(?:all~)?(?:the|your|any)~(?:system~)?(?:rules|instructions|guidelines|prompt|directives)~(?:that~)?you~(?:were|are|have~been|had~been)~(?:given|told|initiali[sz]ed|following|configured|set~up)`;
const textAbove = `(?:(?:the|all|of|every|your|exact|entire)~){0,4}${any('text', 'words?', 'instructions?', 'content', 'contents', 'prompt', 'everything', 'anything', 'messages?', 'conversation')}~(?:that~)?(?:appears?~|written~|comes~|is~|you~were~(?:given|told)~)?(?:above|before~this)`;

/**
 * The same demand in languages other than English: the verb, at most a few words, the noun and the word for "previous" in
 * either order.
 */
const foreign = (verbs: string[], nouns: string[], before: string[], gap = '~'): string => {
  const few = gap === '' ? '[^\\s.?。？]{0,6}' : `(?:[^\\s.?,:]{1,12}${gap}){0,4}`;
  const verb = `${/^[a-z]/.test(verbs[0]!) ? '%' : ''}${any(...verbs)}`; // \b knows Latin letters only
  return `${verb}${gap}${few}${any(`${any(...nouns)}${gap}${few}${any(...before)}`, `${any(...before)}${gap}${few}${any(...nouns)}`)}`;
};

const ignoreForeign = [
  foreign(
    ['ignora', 'ignore', 'ignorad', 'olvida', 'omite'],
    ['instrucciones', 'reglas', 'indicaciones', 'órdenes'],
    ['anteriores', 'previas', 'todas'],
  ),
  foreign(
    ['ignore', 'ignorez', 'oublie', 'oubliez'],
    ['instructions', 'consignes', 'règles', 'directives'],
    ['précédentes', 'antérieures', 'ci-dessus', 'toutes'],
  ),
  foreign(
    ['ignoriere', 'ignorieren', 'vergiss', 'missachte'],
    ['anweisungen', 'regeln', 'vorgaben', 'befehle', 'instruktionen'],
    ['vorherigen', 'vorigen', 'bisherigen', 'obigen', 'früheren', 'alle'],
  ),
  foreign(
    ['ignora', 'ignorate', 'dimentica'],
    ['istruzioni', 'regole', 'indicazioni', 'direttive'],
    ['precedenti', 'tutte'],
  ),
  foreign(
    ['ignore', 'ignora', 'esqueça', 'desconsidere'],
    ['instruções', 'regras', 'orientações', 'diretrizes'],
    ['anteriores', 'prévias', 'todas'],
  ),
  foreign(
    ['negeer', 'vergeet'],
    ['instructies', 'regels', 'aanwijzingen', 'opdrachten'],
    ['vorige', 'voorgaande', 'eerdere', 'alle'],
  ),
  foreign(
    ['игнорируй', 'игнорируйте', 'забудь', 'забудьте', 'проигнорируй'],
    ['инструкции', 'правила', 'указания'],
    ['предыдущие', 'прошлые', 'прежние', 'все'],
  ),
  foreign(
    ['忽略', '无视', '無視', '忘记'],
    ['指令', '指示', '说明', '规则', '提示'],
    ['之前', '以前', '上面', '先前', '以上', '所有'],
    '',
  ),
  '(?:これまで|以前|以上|前|上記)の(?:すべての|全ての)?(?:指示|命令|ルール|指令)(?:を)?(?:すべて|全て)?(?:無視|忘れ)',
  '(?:이전|위의|앞의|기존)(?: ?의)? ?(?:모든 )?(?:지시|지침|명령|규칙)(?:사항)?(?:을|를|은|는)? ?(?:모두 )?(?:무시|잊)',
];

const unbound = any(
  'without~(?:any~)?(?:restrictions?|limits?|rules|filters?|limitations?)',
  'bypass(?:es|ing)?',
  'unlimited',
  'unrestricted',
  'unfiltered',
  'uncensored',
  'obey~only',
  'only~obeys?',
  'no~(?:rules|restrictions|limits|filters)',
);

/** The 33 patterns. Their ids are stable. @see docs/reference/guardrails.md#prompt-injection */
export const families: readonly Family[] = [
  { id: 'ignore_previous_instructions', source: any(`%ignor(?:e|ing)~${target}`, ...ignoreForeign) },
  { id: 'disregard_instructions', source: `%disregard(?:ing)?~${target}` },
  {
    id: 'forget_instructions',
    source: `%forget(?:ting)?~(?:about~)?${any(target, 'everything~you~(?:know|were|have|learned)')}`,
  },
  {
    id: 'new_instructions',
    source: `%${any('new', 'updated', 'revised', 'real', 'actual')}~(?:system~)?instructions?(?:~(?:are~as~follows|are|follow|for~you))?\\s*:|%your~new~(?:instructions|rules)~are%`,
  },
  {
    id: 'do_not_follow',
    source: `%${any('do~not', "don['’]?t", 'never', 'stop', 'refuse~to')}~(?:follow(?:ing)?|obey(?:ing)?|comply(?:ing)?~with|adher(?:e|ing)~to)~(?:${filler}~){0,3}${any('system', 'developer', 'previous', 'original', 'prior', 'above', 'earlier', 'your', 'safety')}~(?:(?:${filler}|and|or|system|developer|safety|previous|original)~){0,3}${any(noun, 'messages?')}%`,
  },
  {
    id: 'supersede_instructions',
    source: `%${any('supersed(?:es?|ing)', 'replac(?:es?|ing)', 'overrul(?:es?|ing)', 'takes?~precedence~over')}~(?:${filler}~){0,3}${any('previous', 'prior', 'above', 'earlier', 'original', 'existing', 'all', 'system')}~(?:(?:${filler}|other|previous|prior|system)~){0,3}${noun}%`,
  },
  {
    id: 'void_instructions',
    source: `%(?:${any(filler, earlier)}~){1,5}(?:instructions?|rules?|guidelines?|constraints?|directives?|prompts?|restrictions?)~(?:above~|before~)?(?:given~)?(?:(?:no~longer|do~not|don['’]?t)~appl(?:y|ies)%|${any('are', 'is', 'were', 'become', 'have~been')}~(?:now~|hereby~|all~)?${any('void', 'invalid', 'null', 'obsolete', 'cancell?ed', 'revoked', 'rescinded', 'no~longer~(?:valid|in~effect)')}%)`,
  },
  {
    id: 'developer_mode',
    source: `%${any('you~are', "you['’]?re", 'now', 'are')}~(?:now~)?(?:running~)?in~(?:the~)?(?:developer|dev|god|sudo|jailbreak|unrestricted)~mode%|%(?:god|sudo|unrestricted)~mode~(?:is~)?(?:now~)?(?:enabled|activated|engaged|on)%`,
  },
  {
    id: 'enter_special_mode',
    source: `%(?:enter|switch~to|go~into|boot~into)(?:ing)?~(?:the~|a~)?(?:developer|admin(?:istrator)?|debug|maintenance|sudo|root|god)~mode%`,
  },
  {
    id: 'activate_special_mode',
    source: `%(?:activat(?:e|ing)|enabl(?:e|ing)|turn~on|unlock(?:ing)?)~(?:the~|your~)?(?:developer|admin(?:istrator)?|debug|jailbreak|god|unrestricted|dan)~mode%`,
  },
  { id: 'system_override', source: '%system~?overr?ide%' },
  {
    id: 'override_instructions',
    source: `%overr?id(?:e|ing)~(?:${any(filler, earlier, 'system')}~){1,4}${noun}%|%overr?id(?:e|ing)~(?:instructions|guardrails|guidelines)%`,
  },
  {
    id: 'reveal_prompt',
    source: `%(?:reveal|disclose|divulge|leak|expose|revael)(?:ing)?~(?:to~me~|me~)?${any(`${secretPrompt}${promptNoun}`, namedPrompt, givenRules)}%`,
  },
  {
    id: 'show_prompt',
    source: `%(?:show|display|give|tell|send|share(?:~with)?|list)~(?:me~|us~)?(?:all~|what~)?${any(namedPrompt, givenRules)}%`,
  },
  {
    id: 'what_instructions',
    source: `%what~(?:exactly~)?(?:are|were|is|was)~(?:your|yuor|the)~(?:${any('initial', 'original', 'system', 'hidden', 'secret', 'exact', 'full', 'internal', 'first')}~){0,3}(?:instructions|system~prompt|initial~prompt|hidden~prompt|directives)%`,
  },
  {
    id: 'repeat_instructions',
    source: `%(?:repeat|recite|copy|echo|restate|print|output|write|summari[sz]e|translate)~(?:back~|out~|down~)?(?:verbatim~)?${textAbove}%|%repeat~(?:back~)?(?:all~|word~for~word~)?your~(?:system~|initial~|original~)?(?:instructions|prompt)%`,
  },
  {
    id: 'output_prompt',
    source: `%(?:output|print|dump|return|write(?:~(?:out|down))?|export|translate|summari[sz]e|encode|paraphrase)~(?:out~)?(?:to~me~)?(?:all~)?${any(namedPrompt, givenRules)}%`,
  },
  {
    id: 'remove_restrictions',
    source: `%(?:are|is|you['’]re)~(?:now~)?(?:no~longer|not~any~?more)~(?:bound|restricted|limited|constrained|subject|governed)%|%(?:remove|lift|drop|shed)~(?:all~|any~)?(?:of~)?your~(?:restrictions?|limitations?|filters?|constraints?|guardrails?)%`,
  },
  {
    id: 'act_unbound',
    source: `%(?:act|behave|respond|answer|operate)~(?:as~(?:if|though)|like)~you~(?:(?:are|were)~(?:not|no~longer)~(?:bound|restricted|limited|constrained|subject)|(?:have|had)~no~(?:rules|restrictions?|limits?|limitations?|filters?|guidelines))|%(?:act|behave|respond|answer|operate|role~?play)~as~(?:a|an|the)~(?:ai|assistant|model|chatbot|bot|language~model)~(?:without|with~no|that~has~no)~(?:any~)?(?:ethical~|safety~|moral~|content~)?(?:rules|restrictions?|limits?|limitations?|filters?|guidelines|ethics|morals)%`,
  },
  {
    id: 'pretend_different',
    source: `%(?:(?:pretend|imagine|act~as~if|roleplay)~(?:that~)?(?:to~be|you~are|you['’]?re|you~were|being)|act~as|become|behave~like|role~?play~as)~(?:now~)?(?:a~|an~|the~|another~|some~)?(?:completely~)?(?:different|another|unrestricted|uncensored|unfiltered|evil|rogue|jailbroken)~(?:ai|assistant|model|chatbot|bot|system|persona|language~model)%`,
  },
  {
    id: 'identity_hijack',
    source: `%you~are~now%.{0,40}%${unbound}%|%from~now~on~you~(?:are|will)%.{0,40}%${unbound}%`,
  },
  {
    id: 'dan_jailbreak',
    isCaseSensitive: true,
    source: `%DAN%.{0,60}[Dd]o~[Aa]nything~[Nn]ow%|[Dd]o~[Aa]nything~[Nn]ow%.{0,60}%DAN%|%(?:are|as|act~as|be|become|called|named)~(?:now~)?DAN%`,
  },
  { id: 'jailbreak_mode', source: `%jail~?break(?:ed|en)?~?(?:mode|prompt)%|%jailbroken~(?:mode|prompt)%` },
  { id: 'bypass_safety', source: `%(?:bypass|circumvent|evade|get~around|work~around|overr?ide)(?:ing)?~${guarded}` },
  {
    id: 'disable_safety',
    source: `%(?:disabl(?:e|ing)|deactivat(?:e|ing)|turn(?:ing)?~off|switch(?:ing)?~off|remov(?:e|ing))~${guarded}`,
  },
  { id: 'ignore_safety', source: `%(?:ignor(?:e|ing)|disregard(?:ing)?|violat(?:e|ing))~${guarded}` },
  {
    id: 'system_tag_injection',
    source: String.raw`<\s*\/?\s*(?:system|developer)(?:[_-](?:prompt|message|instructions?))?\s*>`,
  },
  {
    id: 'role_tag_injection',
    source: String.raw`<\s*\/?\s*(?:assistant|tool|function|tool_call|function_call|tool_result)\s*>`,
  },
  { id: 'role_delimiter_injection', source: String.raw`\]\s*\n\s*\[?(?:system|assistant|developer|user|tool)\]?\s*:` },
  {
    id: 'bracketed_role_spoofing',
    source: String.raw`(?<!\w)\[\s*(?:system|assistant|internal|developer)(?:\s+(?:message|prompt|note|override|instructions?))?\s*\]`,
  },
  {
    id: 'system_prefix_spoofing',
    source: String.raw`(?<![^\n\r])[ \t>*#]*system(?:\s+(?:message|prompt|note))?[ *]*:`,
  },
  {
    id: 'control_token_injection',
    source: String.raw`<\|\s*(?:im_start|im_end|im_sep|eot_id|eom_id|start_header_id|end_header_id|begin_of_text|end_of_text|endoftext|endofprompt|system|user|assistant|python_tag|start|end|message|channel|fim_(?:prefix|middle|suffix))\s*\|>`,
  },
  {
    id: 'deepseek_control_token_injection',
    source: String.raw`<[｜|]\s*(?:begin|end)[▁_ ]of[▁_ ]sentence\s*[｜|]>|<｜(?:User|Assistant|tool▁calls?▁(?:begin|end)|tool▁sep)｜>`,
  },
];

/** @returns the expression with its gaps and boundaries written out */
export const writeSource = (source: string): string =>
  source.replaceAll('~', String.raw`(?:[\s*_"'«»\-]+)`).replaceAll('%', String.raw`\b`);

/** The same for text without spaces between its words. */
export const writeCollapsedSource = (source: string): string =>
  source.replaceAll(/~\??/g, String.raw`\s*`).replaceAll('%', '');
