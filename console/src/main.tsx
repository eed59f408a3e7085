import './styles/index.css';
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api/client.ts';
import { sessionQuery } from './api/session.ts';
import { router } from './router.tsx';

/** A response without a session leads to the sign-in, and back to the same URL. */
function endSession(error: Error): void {
  if (error instanceof ApiError && error.status === 401) client.setQueryData(sessionQuery.queryKey, null);
}

const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: endSession }),
  defaultOptions: {
    mutations: { onError: endSession },
    queries: {
      staleTime: 10_000,
      retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
});

createRoot(document.getElementById('root')!).render(
  <QueryClientProvider client={client}>
    <RouterProvider router={router} />
  </QueryClientProvider>,
);
