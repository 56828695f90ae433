import {
  Link as RouterLink,
  Navigate as RouterNavigate,
  useNavigate as useRouterNavigate,
} from '@tanstack/react-router';
import type { ComponentProps, ReactNode } from 'react';
import type { Address } from './paths.ts';

/** Search parameters of a URL: a text, or several texts of one name. An empty one is left out. */
export type Search = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Where a link leads. */
export interface Target {
  readonly to: Address;
  /** The parameters of the address, or what they become from the present ones; none unless stated. */
  readonly search?: Search | ((before: Search) => Search);
}

/** How a move changes the history of the browser. */
export interface Move extends Target {
  readonly replace?: boolean;
  readonly resetScroll?: boolean;
}

export interface LinkProps extends Target, Omit<ComponentProps<'a'>, 'href'> {
  /** False: the window keeps its place. */
  readonly resetScroll?: boolean;
  readonly activeOptions?: { readonly exact?: boolean; readonly includeSearch?: boolean };
  readonly activeProps?: ComponentProps<'a'>;
  readonly inactiveProps?: ComponentProps<'a'>;
}

/*
 * The routes are made from a table of pages, so the router knows no path when the types are checked.
 * These are its links with the paths of `paths.ts`.
 */

/** A link to a page. */
export const Link = RouterLink as (props: LinkProps) => ReactNode;

/** Leads to another page at once. */
export const Navigate = RouterNavigate as (props: Move) => ReactNode;

/** A function that opens a page. */
export const useNavigate = useRouterNavigate as () => (move: Move) => Promise<void>;
