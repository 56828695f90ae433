import '../ui/ui.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { newQueryClient } from '../api/query.ts';
import { loadFonts, loadNamespace, startI18n } from '../i18n/i18n.ts';
import { TooltipProvider } from '../ui/tooltip.tsx';
import { AppProvider } from './area.ts';
import type { Area, PageEntry, PageTable } from './pages.ts';
import type { Path } from './paths.ts';
import { routerOf } from './router.tsx';

/** Starts an application in the element `#root`: texts and their fonts first, so that no key is ever shown and nothing jumps. */
export async function startApp<P extends Path>(area: Area, table: PageTable<P>): Promise<void> {
  document.documentElement.dataset['area'] = area;
  const root = document.getElementById('root');
  if (root === null) throw new Error('the page has no #root');
  await startI18n();
  await Promise.all([loadNamespace('navigation'), loadFonts()]);
  const pages = Object.entries<Omit<PageEntry, 'path'>>(table).map(([path, page]) => ({
    ...page,
    path: path as P,
  }));
  const router = routerOf(area, pages);
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={newQueryClient()}>
        <TooltipProvider>
          <AppProvider value={{ area, pages }}>
            <RouterProvider router={router} />
          </AppProvider>
        </TooltipProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}
