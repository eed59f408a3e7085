import type { FastifyRequest } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Caller } from '../../domain/caller.ts';
import type { EndpointFacts } from '../../domain/endpoint.ts';
import { GatewayError } from '../../domain/errors.ts';
import { type Capability, type ImageFacts, type ImageParameter, imageParameters } from '../../domain/images.ts';
import { imagePriceLinesOf } from '../../metering/image-cost.ts';
import { isAllowed, type ModelRow } from '../../routing/model-rows.ts';
import { writeArchitecture } from '../models/write-model.ts';

/** The data that the routes of image models read. */
export interface ImageModelsParts {
  catalog: () => Catalog;
  rowsFor: (caller: Caller) => ModelRow[];
}

/** An endpoint that generates images. */
type ImageEndpoint = EndpointFacts & { image: ImageFacts };

const generatesImages = (endpoint: EndpointFacts): endpoint is ImageEndpoint => endpoint.image !== undefined;

/** `GET /images/models` and the endpoints of one. @see docs/reference/images.md#catalog */
export function createImageModelsHandlers({ catalog, rowsFor }: ImageModelsParts) {
  return {
    async listImageModels(request: FastifyRequest) {
      const rows = rowsFor(request.caller!).filter(({ model, isRouter }) => !model.hidden && !isRouter);
      return {
        data: rows.flatMap((row) => {
          const endpoints = row.endpoints.filter(generatesImages);
          return endpoints.length === 0 ? [] : [writeImageModel(row, endpoints)];
        }),
      };
    },

    async listImageEndpoints(request: FastifyRequest) {
      const { author, slug } = request.params as { author: string; slug: string }; // the route has them
      const named = `${author}/${slug}`;
      const found: readonly EndpointFacts[] = catalog().find(catalog().findModel(named)?.id ?? named);
      const endpoints = found.filter(isAllowed(request.caller!, catalog())).filter(generatesImages);
      if (endpoints.length === 0) {
        const shown = named.slice(0, 200);
        const text = `There is no image model ${shown} here; GET /api/v1/images/models lists the image models.`;
        throw new GatewayError('not_found', text);
      }
      return {
        id: catalog().findModel(named)?.id ?? named.toLowerCase(),
        endpoints: endpoints.map((each) => writeImageEndpoint(each)),
      };
    },
  };
}

function writeImageModel(row: ModelRow, endpoints: readonly ImageEndpoint[]): Record<string, unknown> {
  const { id, name, description, created } = row.model;
  const [author, ...rest] = id.split('/');
  const { input_modalities, output_modalities } = writeArchitecture(row);
  return {
    id,
    name,
    description: description ?? '',
    created,
    architecture: { input_modalities, output_modalities },
    supported_parameters: uniteParameters(endpoints),
    supports_streaming: endpoints.some(({ image }) => image.streams),
    endpoints: `/api/v1/images/models/${encodeURIComponent(author!)}/${encodeURIComponent(rest.join('/'))}/endpoints`,
  };
}

function writeImageEndpoint(endpoint: ImageEndpoint): Record<string, unknown> {
  const { provider, tag, image } = endpoint;
  return {
    provider_name: provider.name,
    provider_slug: tag.split('/')[0],
    provider_tag: tag,
    supported_parameters: image.parameters,
    allowed_passthrough_parameters: image.passthrough,
    supports_streaming: image.streams,
    pricing: (imagePriceLinesOf(endpoint) ?? []).map(({ billable, unit, costUsd, variant }) => ({
      billable,
      unit,
      cost_usd: costUsd,
      ...(variant !== undefined && { variant }),
    })),
  };
}

/** Returns the union of the capabilities of endpoints: all values, the widest ranges. */
function uniteParameters(endpoints: readonly ImageEndpoint[]): Partial<Record<ImageParameter, Capability>> {
  const united: Partial<Record<ImageParameter, Capability>> = {};
  for (const name of imageParameters) {
    for (const { image } of endpoints) {
      const more = image.parameters[name];
      if (more) united[name] = unite(united[name], more);
    }
  }
  return united;
}

function unite(before: Capability | undefined, more: Capability): Capability {
  if (before?.type === 'enum' && more.type === 'enum') {
    return { type: 'enum', values: [...new Set([...before.values, ...more.values])] };
  }
  if (before?.type === 'range' && more.type === 'range') {
    return { type: 'range', min: Math.min(before.min, more.min), max: Math.max(before.max, more.max) };
  }
  return before ?? more;
}
