import { GatewayError, type Issue } from '../domain/errors.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import { readImageRequest } from '../requests/images/request.ts';
import { knownImageFields } from '../requests/images/schema.ts';
import { planImageRoute, type RoutingContext } from '../routing/plan-route.ts';
import type { ReadImageSettings } from '../tools/image-generation/index.ts';

/** Fields of `POST /images` that a tool sets itself. */
const reserved: ReadonlySet<string> = new Set(['prompt', 'n', 'stream', 'session_id', 'user', 'trace', 'provider']);

/** A prompt that stands for that of the call. */
const SOME_PROMPT = 'An image';

/**
 * Creates the reader of image settings for tools. It checks them as `POST /images` does, and plans the request, so that
 * an unknown model or setting is found before anything is sent. Settings that only some providers have become their
 * options.
 *
 * @param defaultModel of the gateway
 */
export const createImageSettingsReader =
  (defaultModel: () => string, routingContext: () => RoutingContext<EndpointFacts>): ReadImageSettings =>
  (settings, caller) => {
    const model = settings['model'] ?? caller.defaults?.imageModel ?? defaultModel();
    const given = Object.entries(settings).filter(([name]) => name !== 'model');
    const issues: Issue[] = given
      .filter(([name]) => reserved.has(name))
      .map(([path]) => ({ path, message: `\`${path}\` is set by the gateway. Leave it out.` }));
    if (issues.length > 0) return { issues };
    const known = given.filter(([name]) => knownImageFields.has(name));
    const special = given.filter(([name]) => !knownImageFields.has(name));
    try {
      const { request } = readImageRequest({ ...Object.fromEntries(known), model, prompt: SOME_PROMPT }, {});
      const { endpoints } = planImageRoute(request, caller, routingContext());
      const options: Record<string, Record<string, unknown>> = {};
      for (const [name, value] of special) {
        const takers = endpoints.filter(({ image }) => image?.passthrough.includes(name));
        for (const { tag } of takers) {
          const slug = tag.split('/')[0]!;
          options[slug] = { ...options[slug], [name]: value };
        }
        if (takers.length > 0) continue;
        issues.push({ path: name, message: `\`${name}\` is no setting of ${request.model}. Leave it out.` });
      }
      if (issues.length > 0) return { issues };
      return { request: special.length === 0 ? request : { ...request, provider: { options } } };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const found = error.metadata['issues'] as Issue[] | undefined; // of an invalid request
      if (found && found.length > 0) return { issues: found };
      const remedy =
        settings['model'] === undefined
          ? ' Set `parameters.model`, `default_image_model` of the workspace, or tools.image_generation.model.'
          : '';
      return {
        issues: [
          { path: 'model', message: `\`model\` names no image model that can be used: ${error.message}${remedy}` },
        ],
      };
    }
  };
