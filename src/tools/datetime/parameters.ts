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

/** The arguments of its calls. */
export const datetimeArguments = Type.Object(
  {
    timezone: Type.Optional(
      Type.Refine(
        Type.String({ description: 'A time zone of the IANA database.', examples: ['Europe/Zurich'] }),
        isTimeZone,
        (name) => `must be a time zone of the IANA database such as Europe/Zurich, got ${show(name)}`,
      ),
    ),
  },
  { additionalProperties: false },
);
