/**
 * The pool alone. The whole of `undici` brings `fetch`, WebSocket, caches and mocks along: 8 MB in every process, of which nothing is
 * used where requests are served.
 */
declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici';
}
