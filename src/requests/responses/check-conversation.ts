import { isObject } from '../../schema/by-kind.ts';
import { type Report, show } from '../../schema/report.ts';

/** A body whose fields may have wrong shapes. Every problem must be found. */
type Body = Record<string, unknown>;

/** Checks the 400 rules on model and conversation that need more than one field. @see docs/reference/errors.md */
export function checkConversation(body: Body, report: Report): void {
  checkModel(body, report);
  const { conversation = null } = body; // without its items, the model would answer something else
  if (conversation !== null)
    report.add(
      'conversation',
      'must be null, because no conversation is stored; send the whole conversation in `input`',
    );
  if (body.prompt === undefined || body.prompt === null) checkInput(body, report);
  if (!Array.isArray(body.input)) return;
  checkConfigurationUpdates(body.input, report);
  checkSubagentCalls(body.input, report);
}

function checkModel(body: Body, report: Report): void {
  if (lacksModel(body)) report.add('model', 'is missing: name a model in `model`, or several in `models`');
}

/** Whether no field of a body names a model. The body may still have nulls for absent fields. */
export const lacksModel = ({ model, models }: Body): boolean =>
  (model === undefined || model === null) &&
  (models === undefined || models === null || (Array.isArray(models) && models.length === 0));

/** Checks the input of a request without a prompt template, which could replace the input. */
function checkInput({ input, messages }: Body, report: Report): void {
  if (input === undefined) {
    const hint = messages === undefined ? '' : '; what chat completions call `messages` goes there';
    report.add('input', `is missing: send a string or a list of input items${hint}`);
  } else if (input === '') report.add('input', 'must not be empty, got ""');
  else if (Array.isArray(input) && input.length === 0) report.add('input', 'must not be empty, got a list of 0 items');
}

function checkConfigurationUpdates(input: unknown[], report: Report): void {
  const isUpdate = (item: unknown) => isObject(item) && item.type === 'configuration_update';
  for (let index = 1; index < input.length; index++) {
    if (isUpdate(input[index]) && isUpdate(input[index - 1])) {
      report.add(`input[${index}]`, 'is a `configuration_update` right after another one; send only the last of them');
    }
  }
}

function checkSubagentCalls(input: unknown[], report: Report): void {
  let callIds: Set<unknown> | undefined;
  for (let index = 0; index < input.length; index++) {
    const item = input[index];
    if (!isObject(item) || item.type !== 'function_call' || typeof item.subagent_id !== 'string') continue;
    callIds ??= new Set(input.filter((each) => isObject(each) && each.type === 'router:subagent').map(callIdOf));
    if (callIds.has(item.subagent_id)) continue;
    const says = `matches the \`call_id\` of no \`router:subagent\` item of the input, got ${show(item.subagent_id)}`;
    report.add(`input[${index}].subagent_id`, says);
  }
}

const callIdOf = (item: unknown): unknown => (isObject(item) ? item.call_id : undefined);
