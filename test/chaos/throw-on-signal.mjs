/**
 * A fault from outside, for `NODE_OPTIONS=--import`: SIGUSR2 makes whichever process of Naru's own
 * program it reaches throw where nothing catches, and SIGPWR makes it reject where nothing listens.
 * It quotes what no log may have.
 */
if (/\/main\.(?:ts|cjs)$/.test(process.argv[1] ?? '')) {
  const quoted = '"a prompt of a person"';
  process.on('SIGUSR2', () =>
    setImmediate(() => {
      throw new Error(`injected ${quoted}`);
    }),
  );
  process.on('SIGPWR', () => void Promise.reject(new Error(`injected ${quoted}`)));
}
