import type { ReactNode } from 'react';

/** Outline icons of 16 px in a box of 24 units. They are decoration: the text or label beside them is what counts. */
const paths = {
  alert: (
    <path d="M12 8v5m0 3.5v.01M10.3 3.9 2.5 17.5A2 2 0 0 0 4.2 20.5h15.6a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0Z" />
  ),
  apps: <path d="M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z" />,
  arrowDown: <path d="M12 5v14m-6-6 6 6 6-6" />,
  arrowRight: <path d="M5 12h14m-6-6 6 6-6 6" />,
  arrowUp: <path d="M12 19V5m-6 6 6-6 6 6" />,
  ban: <path d="M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM5.7 5.7l12.6 12.6" />,
  book: (
    <path d="M12 7v13M3 5.5h5A4 4 0 0 1 12 9a4 4 0 0 1 4-3.5h5v12.5h-5.5A3.5 3.5 0 0 0 12 20a3.5 3.5 0 0 0-3.5-2H3z" />
  ),
  chart: <path d="M4 4v16h16M8 16v-4m4 4V8m4 8v-6" />,
  check: <path d="m5 12.5 4.5 4.5L19 7.5" />,
  checkCircle: <path d="M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm-4-8.8 2.8 2.8L16 9.5" />,
  chevronDown: <path d="m6 9 6 6 6-6" />,
  chevronLeft: <path d="m15 6-6 6 6 6" />,
  chevronRight: <path d="m9 6 6 6-6 6" />,
  chevrons: <path d="m8 9.5 4-4 4 4m-8 5 4 4 4-4" />,
  clock: <path d="M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm0-14v5l3.2 2" />,
  close: <path d="M6 6l12 12M18 6 6 18" />,
  cloudOff: (
    <path d="M3 3l18 18M8 6.6A6.5 6.5 0 0 1 17.6 11 4 4 0 0 1 20.4 17M16 18H7a4.5 4.5 0 0 1-1.2-8.8" />
  ),
  coins: (
    <path d="M9 13a5.5 3 0 1 0 0-6 5.5 3 0 0 0 0 6Zm-5.5-3v6c0 1.7 2.5 3 5.5 3s5.5-1.3 5.5-3v-6m0 1c3.3 0 6-1.2 6-3s-2.6-3-5.5-3c-2 0-3.7.5-4.7 1.3M20.5 8v6c0 1.6-2.5 2.9-5.5 3" />
  ),
  columns: <path d="M4 5h16v14H4zm5.3 0v14m5.4-14v14" />,
  copy: <path d="M9 9h11v11H9zM5 15H4V4h11v1" />,
  dot: <circle cx="12" cy="12" r="4" fill="currentColor" stroke="none" />,
  download: <path d="M12 4v11m-5-4 5 5 5-5M4 20h16" />,
  edit: <path d="M4 20h4L19.500 8.500a2.100 2.100 0 0 0-4-4L4 16zm9.500-13 4 4" />,
  external: <path d="M9 5H5v14h14v-4M13 5h6v6m0-6-9 9" />,
  filter: <path d="M4 6h16M7 12h10m-7 6h4" />,
  gear: (
    <path d="M12 15.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4ZM10.4 3h3.2l.5 2.5 1.9.8 2.1-1.4 2.3 2.2-1.5 2.1.8 2 2.5.5v3.1l-2.5.5-.8 2 1.5 2.1-2.3 2.2-2.1-1.4-1.9.8-.5 2.5h-3.2l-.5-2.5-2-.8-2 1.4-2.3-2.2 1.4-2.1-.8-2-2.5-.5v-3.1l2.5-.5.8-2L3.6 7.1l2.3-2.2L8 6.3l1.9-.8Z" />
  ),
  globe: (
    <path d="M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM3.3 12h17.4M12 3c2.4 2.4 3.6 5.6 3.6 9s-1.2 6.6-3.6 9c-2.4-2.4-3.6-5.6-3.6-9S9.6 5.4 12 3Z" />
  ),
  home: <path d="M4 11 12 4l8 7v9h-5.5v-6h-5v6H4z" />,
  image: <path d="M4 5h16v14H4zm0 11 5-5 4 4 3-3 4 4M9 9.500v.010" />,
  inbox: <path d="M4 14 6.5 5h11L20 14v5H4zm0 0h5l1.2 2.2h3.6L15 14h5" />,
  info: <path d="M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm0-10v5m0-8.5v.01" />,
  key: <path d="M8 20a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9Zm3.3-7.8L20 3.5m-4 4 3 3" />,
  list: <path d="M8 6h12M8 12h12M8 18h12M4 6v.01M4 12v.01M4 18v.01" />,
  live: (
    <path d="M12 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM7.8 16.2a6 6 0 0 1 0-8.4m8.4 0a6 6 0 0 1 0 8.4M5 19A10 10 0 0 1 5 5m14 0a10 10 0 0 1 0 14" />
  ),
  lock: <path d="M5 11h14v9H5zm3 0V8a4 4 0 0 1 8 0v3" />,
  menu: <path d="M4 7h16M4 12h16M4 17h16" />,
  minus: <path d="M5 12h14" />,
  model: <path d="m12 3 8 4.5v9L12 21l-8-4.5v-9zm0 9 8-4.5M12 12v9m0-9L4 7.5" />,
  monitor: <path d="M3 5h18v11H3zm6 15h6m-3-4v4" />,
  moon: <path d="M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5Z" />,
  more: <path d="M5 12v.01M12 12v.01M19 12v.01" strokeWidth="2.6" />,
  pause: <path d="M8 5v14m8-14v14" />,
  play: <path d="M7 4.5 19 12 7 19.5Z" />,
  plus: <path d="M12 5v14m-7-7h14" />,
  receipt: <path d="M5 3.5h14v17l-2.3-1.5L14.3 20.5 12 19l-2.3 1.5L7.3 19 5 20.5zM9 8.5h6M9 12.5h6" />,
  refresh: <path d="M20 12a8 8 0 1 1-2.3-5.6L20 8.5M20 4v4.5h-4.5" />,
  search: <path d="M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14Zm5-2 4.5 4.5" />,
  server: <path d="M4 4.5h16v6H4zm0 9h16v6H4zM7.5 7.5v.01m0 8.99v.01" />,
  shield: <path d="M12 3.5 19 6v6c0 4.2-3 7.2-7 8.5-4-1.3-7-4.3-7-8.5V6z" />,
  signOut: <path d="M10 4H5v16h5m5-12 4 4-4 4m4-4H10" />,
  stop: <path d="M7 7h10v10H7z" />,
  sun: (
    <path d="M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm0-13v2m0 14v2M3 12h2m14 0h2M5.6 5.6 7 7m10 10 1.4 1.4M5.6 18.4 7 17M17 7l1.4-1.4" />
  ),
  table: <path d="M4 5h16v14H4zm0 4.7h16M4 14.3h16M10 9.7V19" />,
  terminal: <path d="M4 5h16v14H4zm3.5 4 3 3-3 3m5 0h4" />,
  trash: <path d="M5 7h14M10 4h4M7 7l.8 13h8.4L17 7m-7 4v5m4-5v5" />,
  trophy: (
    <path d="M8 4h8v5a4 4 0 0 1-8 0zm0 1.5H4.5C4.5 9 6 10.5 8.2 10.5m7.8-5h3.500C19.5 9 18 10.5 15.8 10.500M12 13v4m-4 3h8m-6-3h4" />
  ),
  user: <path d="M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7.5 8.500a7.5 7.5 0 0 1 15 0" />,
  users: (
    <path d="M9 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7 8.500a7 7 0 0 1 14 0M16 4.500a4 4 0 0 1 0 7m2.5 3.300a7 7 0 0 1 3.5 5.7" />
  ),
} satisfies Record<string, ReactNode>;

/** The name of an icon. */
export type IconName = keyof typeof paths;

/** An icon in the colour of the text around it. Hidden from assistive technology. */
export function Icon({
  name,
  size = 16,
  className = '',
}: {
  name: IconName;
  size?: number;
  className?: string;
}) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      className={`shrink-0 ${className}`}
    >
      {paths[name]}
    </svg>
  );
}
