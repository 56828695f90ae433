/** A program that is known by its User-Agent. */
export interface KnownApp {
  readonly name: string;
  readonly url: string;
}

/**
 * Programs by the products in their User-Agent, in lower case. A program also names the libraries
 * that it uses, so the first row wins: agents, then frameworks, then HTTP clients. `openai/js` is a
 * product with the word behind its slash.
 */
const rows: readonly (readonly [name: string, url: string, ...products: readonly string[]])[] = [
  ['opencode', 'https://opencode.ai', 'opencode'],
  ['Cline', 'https://cline.bot', 'cline'],
  ['Qwen Code', 'https://github.com/QwenLM/qwen-code', 'qwencode', 'qwen-code'],
  ['Continue', 'https://www.continue.dev', 'continue', 'continue-cli'],
  ['Zed', 'https://zed.dev', 'zed', 'zed-preview', 'zed-nightly', 'zed-dev'],
  ['Roo Code', 'https://github.com/RooVetGit/Roo-Cline', 'roocode', 'roo-code'],
  ['Kilo Code', 'https://kilocode.ai', 'kilo-code', 'kilocode'],
  ['Kimi Code', 'https://www.kimi.com/code', 'kimi-code-cli', 'kimi-code', 'kimicli'],
  ['pi', 'https://github.com/earendil-works/pi', 'pi'],
  ['Codex', 'https://github.com/openai/codex', 'codex_cli_rs', 'codex-cli', 'codex_exec'],
  ['Claude Code', 'https://claude.com/claude-code', 'claude-cli', 'claude-code'],
  [
    'GitHub Copilot CLI',
    'https://github.com/features/copilot/cli',
    ...['githubcopilotcli', 'github-copilot-cli', 'copilot-cli', 'copilot'],
  ],
  ['GitHub Copilot', 'https://github.com/features/copilot', 'githubcopilotchat', 'github-copilot'],
  ['Cursor', 'https://cursor.com', 'cursor'],
  ['Aider', 'https://aider.chat', 'aider'],
  ['Goose', 'https://github.com/block/goose', 'goose'],
  ['Open WebUI', 'https://openwebui.com', 'open-webui', 'openwebui'],
  ['LibreChat', 'https://www.librechat.ai', 'librechat'],
  ['promptfoo', 'https://www.promptfoo.dev', 'promptfoo'],
  ['OpenAI Agents SDK', 'https://openai.github.io/openai-agents-js', 'agents/javascript', 'agents/python'],
  ['LangChain', 'https://www.langchain.com', 'langchain', 'langchain-openai', 'langchainjs-openai'],
  ['LlamaIndex', 'https://www.llamaindex.ai', 'llamaindex', 'llama-index'],
  ['LiteLLM', 'https://www.litellm.ai', 'litellm'],
  ['Pydantic AI', 'https://ai.pydantic.dev', 'pydantic-ai'],
  ['OpenRouter SDK', 'https://openrouter.ai/docs/sdks', '@openrouter/sdk', 'openrouter'],
  ['AI SDK', 'https://ai-sdk.dev', 'ai', 'ai-sdk', 'ai-sdk-openai-compatible'],
  ['OpenAI SDK (Python)', 'https://github.com/openai/openai-python', 'openai/python', 'asyncopenai/python'],
  ['OpenAI SDK (JavaScript)', 'https://github.com/openai/openai-node', 'openai/js'],
  ['OpenAI SDK (Go)', 'https://github.com/openai/openai-go', 'openai/go'],
  ['OpenAI SDK (Java)', 'https://github.com/openai/openai-java', 'openai/java', 'openaiclient/java'],
  ['OpenAI SDK (Ruby)', 'https://github.com/openai/openai-ruby', 'openai/ruby', 'openai::client/ruby'],
  ['OpenAI SDK', 'https://platform.openai.com/docs/libraries', 'openai'],
  ['curl', 'https://curl.se', 'curl'],
  ['Wget', 'https://www.gnu.org/software/wget', 'wget'],
  ['HTTPie', 'https://httpie.io', 'httpie'],
  ['Postman', 'https://www.postman.com', 'postmanruntime'],
  ['Insomnia', 'https://insomnia.rest', 'insomnia'],
  ['Python Requests', 'https://requests.readthedocs.io', 'python-requests'],
  ['HTTPX', 'https://www.python-httpx.org', 'python-httpx'],
  ['aiohttp', 'https://docs.aiohttp.org', 'aiohttp'],
  ['urllib', 'https://docs.python.org/3/library/urllib.html', 'python-urllib', 'python-urllib3'],
  ['axios', 'https://axios-http.com', 'axios'],
  ['node-fetch', 'https://github.com/node-fetch/node-fetch', 'node-fetch'],
  ['Node.js', 'https://nodejs.org', 'node', 'undici'],
  ['Deno', 'https://deno.com', 'deno'],
  ['Bun', 'https://bun.com', 'bun'],
  ['Go', 'https://go.dev', 'go-http-client'],
  ['Java', 'https://openjdk.org', 'java-http-client', 'okhttp'],
  ['reqwest', 'https://docs.rs/reqwest', 'reqwest'],
];

/**
 * A bundler may have shortened the class name that the JavaScript SDK uses as its product: `ls/JS
 * 5.23.2`.
 */
const shortenedSdk = /^[\w$]{1,3}\/js$/;
const maxReadLength = 500;
const ranks = new Map(
  rows.flatMap(([, , ...products], rank) => products.map((product) => [product, rank] as const)),
);

/** The program that a User-Agent names, or null when it names none that is known. */
export function appOfUserAgent(userAgent: string): KnownApp | null {
  const stated = userAgent.slice(0, maxReadLength).toLowerCase();
  const message = stated.match(/[^\s();,]+/g) ?? [];
  // Without a version, a word is prose, unless it is the only one.
  const products = message.filter((word) => message.length === 1 || word.includes('/'));
  const found = products.flatMap((product) => {
    const [first = '', second = ''] = product.split('/', 2);
    const both = shortenedSdk.test(product) ? 'openai/js' : `${first}/${second}`;
    return [ranks.get(both), ranks.get(first)].filter((rank) => rank !== undefined);
  });
  const row = found.length === 0 ? undefined : rows[Math.min(...found)];
  return row === undefined ? null : { name: row[0], url: row[1] };
}

/** Whether an app is one of the programs that a User-Agent names. */
export function isKnownApp({ name, url }: KnownApp): boolean {
  return rows.some((row) => row[0] === name && row[1] === url);
}
