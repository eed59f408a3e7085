import { Type } from 'typebox';
import { show } from '../../schema/report.ts';

const isTimeZone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
};

const timeZone = Type.Refine(
  Type.String(),
  isTimeZone,
  (name) => `must be a time zone of the IANA database such as \`Europe/Zurich\`, got ${show(name)}`,
);

/** `parameters` of `router:datetime`. */
export const datetimeParameters = Type.Object({ timezone: Type.Optional(timeZone) }, { additionalProperties: false });

/** Zone of calls and requests that name none. */
export const DEFAULT_ZONE = 'UTC';

/**
 * Creates the schema of the arguments. Its example is the zone of the request: a model that fills in the example then
 * uses no zone that the request does not know.
 */
export const describeArguments = (zone: string) =>
  Type.Object(
    {
      timezone: Type.Optional(
        Type.Refine(
          Type.String({ description: `A time zone of the IANA database. Default: ${zone}.`, examples: [zone] }),
          isTimeZone,
          (name) => `must be a time zone of the IANA database such as Europe/Zurich, got ${show(name)}`,
        ),
      ),
    },
    { additionalProperties: false },
  );
