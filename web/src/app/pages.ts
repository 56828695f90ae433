import type { ComponentType } from 'react';
import type { IconName } from '../ui/icons.tsx';
import type { Address, Path } from './paths.ts';

/** Which application runs: each has its own origin, routes and sessions. */
export type Area = 'dashboard' | 'console';

/** One page of an application: its address, its place in the navigation and where its code is. */
export interface PageEntry {
  /** Below the base of the application, `/usage` or `/requests/$id`. */
  readonly path: Path;
  /** The namespace of its texts, `web/src/i18n/{ko,en}/<name>.json`; its title is the text `title`. */
  readonly namespace: string;
  /** Namespaces of parts that it shares with other pages. */
  readonly alsoUses?: readonly string[];
  /** Loads the code of the page when it is first opened. */
  readonly load: () => Promise<{ readonly Page: ComponentType }>;
  /** In the side navigation and in the palette. A page of one thing has no place there. */
  readonly nav?: {
    /** The key of its name in the namespace `navigation`. */
    readonly label: string;
    readonly icon: IconName;
    /** The heading under which it stands, a key of the namespace `navigation`; none for the first group. */
    readonly group?: string;
    /** The page below whose entry it stands, while one of the two is open. */
    readonly under?: Path;
    /** `g` and this letter open the page. */
    readonly shortcut?: string;
    /** What waits there, beside its name. */
    readonly badge?: ComponentType;
  };
  /** What may be typed into the palette to open this page, such as the id of a generation. */
  readonly typed?: {
    /** The address for a text of this form; null when the text has another form. */
    readonly pathOf: (text: string) => Address | null;
    /** A key of the common texts; `{{search}}` is the typed text. */
    readonly label: string;
    readonly icon: IconName;
  };
  /** `session` (unless stated): needs a person who has signed in. `public`: anybody. `bare`: anybody, without the shell. */
  readonly access?: 'session' | 'public' | 'bare';
}

/** The pages of an application by path, in the order of the navigation. */
export type PageTable<P extends Path> = Readonly<Record<P, Omit<PageEntry, 'path'>>>;
