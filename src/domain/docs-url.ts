/** The published pages of `docs/`. */
const BASE = 'https://headgate.dev/docs';

/** @param page path below `docs/` without `.md`, and a heading: `reference/errors#no_endpoints` */
export const docsUrl = (page: string): string => `${BASE}/${page}`;
