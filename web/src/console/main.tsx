import { startApp } from '../app/start-app.tsx';
import { consolePages } from './pages.ts';

void startApp('console', consolePages);
