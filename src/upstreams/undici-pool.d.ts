/**
 * The pool alone. The whole of `undici` brings `fetch`, WebSocket, caches and mocks along: 8 MB in every process, of which nothing is
 * used where requests are served. The pool brings these two itself.
 */
declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici';
}
declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici';
}
declare module 'undici/lib/core/connect.js' {
  export { buildConnector as default } from 'undici';
}
