import type { PageEntry } from '../app/pages.ts';

/** Every page of the console, in the order of the navigation. */
export const consolePages: readonly PageEntry[] = [];
