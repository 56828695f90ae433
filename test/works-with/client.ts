/**
 * A client that works with Naru: the generated `docs/works-with.md` shows how to set it up,
 * and a test does exactly that.
 */
export interface Client {
  readonly name: string;
  /** Its package; the version is the one that the tests install. */
  readonly package: string;
  /** The version that was run by hand, for a client that no test installs. */
  readonly versionByHand?: string;
  readonly registry: 'npm' | 'PyPI';
  readonly kind: 'library' | 'agent';
  /** The settings, as a short snippet. */
  readonly brief: string;
  /**
   * A whole program, a whole file, or what to type, with the address, the key and the model of a
   * first start.
   */
  readonly snippet: string;
  readonly language: 'ts' | 'py' | 'json' | 'toml' | 'yaml' | 'sh';
  /** The file that the snippet is; null for a program or a shell. */
  readonly file: string | null;
  /** What else is worth knowing, as Markdown. */
  readonly remark: string | null;
  /** An agent that sends back reasoning, byte for byte, as some models insist on. */
  readonly returnsReasoning?: true;
  /**
   * The app of its requests, as Naru derives it from their headers; null when they have no known
   * value.
   */
  readonly app: string | null;
}

/** What a snippet has of a first start. */
export interface Setting {
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

const shown: Setting = { url: 'http://127.0.0.1:8787/api/v1', key: 'sk-naru-v1-…', model: 'naru/demo' };

/**
 * The snippet of a client with another address, key and model. Throws when it lacks one of them.
 */
export function snippetWith(client: Client, setting: Setting): string {
  let text = client.snippet;
  for (const name of ['url', 'key', 'model'] as const) {
    if (!text.includes(shown[name])) throw new Error(`the snippet of ${client.name} has no ${shown[name]}`);
    text = text.replaceAll(shown[name], setting[name]);
  }
  return text;
}
