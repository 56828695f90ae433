/**
 * The pool alone. All of `undici` includes `fetch`, WebSocket, caches and mocks: 8 MB in every
 * process, unused where requests are served. The pool itself loads these two.
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
