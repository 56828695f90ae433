import { dirname, isAbsolute, join } from 'node:path';

/** The outside sources of values in the file. */
export interface Outside {
  /** The path of the configuration file itself; relative paths start at its folder. */
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The text of a file; throws when it cannot be read. */
  readonly readFile: (path: string) => string;
}

/**
 * A value after interpolation, or an error. `fromOutside` is true when something was interpolated.
 */
export type Interpolated =
  | { readonly ok: true; readonly text: string; readonly fromOutside: boolean }
  | { readonly ok: false; readonly message: string };

const maxFileBytes = 65_536;
// biome-ignore lint/suspicious/noTemplateCurlyInString: it describes our own variables, not JavaScript's
const misspelt = 'a variable is written ${NAME}, with letters, digits and _; write $${ for a literal ${';

/**
 * Replaces `${NAME}` by environment variables (`$${` is a literal `${`). A value that begins with
 * `file:` becomes the trimmed content of that file, which is not interpolated (spec:operator/2.2).
 */
export function interpolate(source: string, outside: Outside): Interpolated {
  if (!source.startsWith('file:')) return withVariables(source, outside);
  const named = withVariables(source.slice('file:'.length), outside);
  return named.ok ? withFile(named.text.trim(), outside) : named;
}

/** A path in the file, relative to the folder of the file. */
export function relativeToConfig(path: string, configPath: string): string {
  return isAbsolute(path) ? path : join(dirname(configPath), path);
}

function withVariables(source: string, outside: Outside): Interpolated {
  const missing: string[] = [];
  let fromOutside = false;
  const text = source.replaceAll(
    /\$(\$)?\{([^}]*)(\})?/g,
    (all, escaped: string | undefined, name: string, closed: string | undefined) => {
      if (escaped !== undefined) return all.slice(1);
      fromOutside = true;
      if (closed === undefined || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
        missing.push(misspelt);
      } else if (Object.hasOwn(outside.env, name) && outside.env[name] !== undefined) {
        return outside.env[name];
      } else missing.push(`the environment variable ${name} is not set`);
      return '';
    },
  );
  return missing.length === 0 ? { ok: true, text, fromOutside } : { ok: false, message: missing.join('; ') };
}

function withFile(path: string, outside: Outside): Interpolated {
  if (path === '') return { ok: false, message: 'file: must be followed by a path' };
  const resolved = relativeToConfig(path, outside.path);
  try {
    const text = outside.readFile(resolved);
    if (text.length > maxFileBytes)
      return { ok: false, message: `the file ${resolved} is larger than 64 KiB` };
    return { ok: true, text: text.trim(), fromOutside: true };
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? ` (${String(thrown.code)})` : '';
    return { ok: false, message: `the file ${resolved} cannot be read${code}` };
  }
}
