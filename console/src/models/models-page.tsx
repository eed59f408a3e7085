import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import type { JSX } from 'react';
import type { Ok } from '../api/client.ts';
import { modelsQuery } from '../api/queries.ts';
import { formatCount } from '../logic/numbers.ts';
import { perMillion } from '../logic/prices.ts';
import { Icon } from '../ui/icon.tsx';
import { Page } from '../ui/page.tsx';
import { Empty, Loaded } from '../ui/states.tsx';
import { Absent } from '../ui/values.tsx';
import { numeric, TableHead } from '../ui/table-head.tsx';

type Row = Ok<'/api/v1/models', 'get'>['data'][number];
/** The list has another shape for clients of another API. */
type Model = Extract<Row, { pricing: unknown }>;
const isModel = (row: Row): row is Model => 'pricing' in row;

const route = getRouteApi('/models');
/** Rows that are shown. A search finds the others. */
const MAX_ROWS = 300;

/** The models with their prices and what they take. */
export function ModelsPage(): JSX.Element {
  const { search = '' } = route.useSearch();
  const navigate = useNavigate();
  const result = useQuery(modelsQuery);
  const wanted = search.toLowerCase();
  return (
    <Page title="Models" about="Prices are in USD per million tokens, of the endpoint that is listed first.">
      <div className="toolbar">
        <div className="search">
          <Icon name="search" />
          <input
            className="input"
            data-search
            aria-label="Search models"
            placeholder="Name or id"
            value={search}
            onChange={({ target }) =>
              void navigate({
                to: '/models',
                search: target.value === '' ? {} : { search: target.value },
                replace: true,
              })
            }
          />
          <kbd>/</kbd>
        </div>
      </div>
      <Loaded result={result}>
        {({ data }) => {
          const found = data.filter(isModel).filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(wanted));
          return found.length === 0 ? (
            <Empty icon="providers" title="No model has this name">
              <p>The gateway offers {formatCount(data.length)} models.</p>
            </Empty>
          ) : (
            <ModelTable models={found} />
          );
        }}
      </Loaded>
    </Page>
  );
}

function ModelTable({ models }: { models: readonly Model[] }): JSX.Element {
  return (
    <section className="panel table-scroll" aria-label="Models">
      <table>
        <TableHead
          columns={['Model', numeric('Input'), numeric('Output'), numeric('Context'), 'Takes', 'Returns']}
          hasActions
        />
        <tbody>
          {models.slice(0, MAX_ROWS).map(({ id, name, pricing, context_length, architecture }) => (
            <tr key={id}>
              <th scope="row" className="name-cell">
                {name}
                <div className="soft mono">{id}</div>
              </th>
              <Price price={pricing.prompt} />
              <Price price={pricing.completion} />
              <td className="number">{context_length === null ? <Absent /> : formatCount(context_length)}</td>
              <td>{architecture.input_modalities.join(', ')}</td>
              <td>{architecture.output_modalities.join(', ')}</td>
              <td className="actions">
                <span className="row" style={{ flexWrap: 'nowrap', justifyContent: 'end' }}>
                  <Link to="/requests" search={{ model: id }} className="button small quiet">
                    Requests
                  </Link>
                  <Link to="/spend" search={{ model: id, by: 'provider' }} className="button small quiet">
                    Spend
                  </Link>
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {models.length > MAX_ROWS && (
        <p className="list-end">
          {formatCount(MAX_ROWS)} of {formatCount(models.length)} models are shown. Search for another one.
        </p>
      )}
    </section>
  );
}

function Price({ price }: { price: string | undefined }): JSX.Element {
  return <td className="number">{price === undefined || price.startsWith('-') ? <Absent /> : perMillion(price)}</td>;
}
