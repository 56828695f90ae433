// Loaded before every test file. The test runner follows every promise to the test that made it,
// which takes a quarter of the time of a run; timers and sockets are followed still. An uncaught
// error fails the file instead of the single test.
import asyncHooks from 'node:async_hooks';

const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
