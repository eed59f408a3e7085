import { defineServerTool } from '../server-tool.ts';
import { datetimeParameters, DEFAULT_ZONE, describeArguments } from './parameters.ts';
import { writeZonedTime } from './write-zoned-time.ts';

/** Tells the model the current date and time. @see docs/reference/tools/datetime.md */
export const datetime = defineServerTool({
  type: 'router:datetime',
  description:
    'Returns the current date and time. Use it if the answer depends on today, on the time of day or on a weekday. ' +
    'Do not use it for dates that the conversation already states.',
  parameters: datetimeParameters,
  arguments: describeArguments(DEFAULT_ZONE),
  show: ({ timezone = DEFAULT_ZONE }) => ({ arguments: { ...describeArguments(timezone) } }),
  item: (input, parameters) => ({ datetime: '', timezone: nameZone(input, parameters) }),
  execute(input, parameters, { now }) {
    const timezone = nameZone(input, parameters);
    const result = { datetime: writeZonedTime(now(), timezone), timezone };
    return { result, item: result };
  },
  replay({ datetime: time, timezone }) {
    if (typeof time !== 'string' || time === '' || typeof timezone !== 'string') return undefined;
    return { arguments: { timezone }, result: { datetime: time, timezone } };
  },
});

/** The zone of the call, otherwise the one of the request. */
const nameZone = (input: { timezone?: string }, parameters: { timezone?: string }): string =>
  input.timezone ?? parameters.timezone ?? DEFAULT_ZONE;
