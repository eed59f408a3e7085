/** A plugin of an operator that adds a tool to the requests that it acts on. */
export default {
  id: 'adding',
  prepare({ request }) {
    request.tools = [...(request.tools ?? []), { type: 'router:web_fetch' }];
  },
};
