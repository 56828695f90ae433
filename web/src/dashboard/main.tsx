import { startApp } from '../app/start-app.tsx';
import { dashboardPages } from './pages.ts';

void startApp('dashboard', dashboardPages);
