import type { Plugin } from '../plugin.ts';

const TYPE = 'router:web_fetch';

/** Adds the tool `router:web_fetch` to a request, with its settings as parameters. The request's own tool wins. */
export const webFetch: Plugin = {
  id: 'web-fetch',
  prepare({ request }, setting) {
    const { tools = [] } = request;
    if (!setting || tools.some(({ type }) => type === TYPE)) return undefined;
    const { id: _, enabled: __, ...parameters } = setting;
    request.tools = [...tools, { type: TYPE, parameters }];
    return undefined;
  },
};
