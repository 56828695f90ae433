/** Maximum length of an upstream's message for a client. */
const maxMessageLength = 500;
/** How much of it is read. */
const maxReadLength = 4_000;

/** Separators between the words of a sentence, of JSON and of a stack trace. */
const separators = /([\s"'`<>(){},;|]+)/;

/**
 * An upstream's own message about a rejected request, safe for the client: one line of at most 500
 * characters without keys, tokens, credentials in URLs, and names of hosts and files. `names` are
 * further texts to remove, such as the upstream's host. Null when no sentence remains. Some
 * replaced words may be harmless; no remaining word is a secret or a machine of the operator.
 */
export function clientMessage(text: string, names: readonly string[]): string | null {
  // A truncated word is removed: a part of a secret would not be recognized.
  const end = text.length < maxReadLength ? text.length : text.lastIndexOf(' ', maxReadLength);
  const whole = text.slice(0, Math.max(0, end));
  let message = whole.replace(/[\p{Cc}\p{Cf}\s]/gu, ' ').trim();
  if (message === '' || message.startsWith('<')) return null;
  for (const name of names) if (name.length > 2) message = message.replaceAll(name, '[host]');
  const redactor = new Redactor();
  const parts = message.split(separators);
  const redacted = parts.map((part, at) =>
    at % 2 === 0 ? redactor.word(part) : part.replaceAll(/ +/g, ' '),
  );
  return redacted.join('').slice(0, maxMessageLength).toWellFormed();
}

const secretNames =
  /(?:api[-_]?key|access[-_]?key(?:[-_]?id)?|secret(?:[-_]?key)?|passw(?:or)?d|authorization|credentials?|[-_]token|signature)$/i;
const providerKeys =
  /(?:^|[^a-z0-9])(?:sk|pk|rk|gsk|xai|hf|gh[pos]|glpat|nvapi|r8|fw|csk|pplx|tgp|key)[-_][\w*.-]{6}/i;
const cloudKeys = /(?:AKIA|ASIA|AROA)[A-Z0-9]{10}|AIza[\w-]{16}|ya29\.|eyJ[\w-]{8}/;
/** Suffixes of names that exist only in private networks. */
const internalName =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|intra|lan|corp|home|private|svc|consul|test|arpa)$/i;
/** Paths of the API, and JSON pointers into a request. */
const knownPath =
  /^\/(?:v\d\w{0,10}|api|chat|messages|tools|properties|response_format|input|prompt|\d{1,5})(?:\/|$)/;

/** Redacts the words of one sentence in order. */
class Redactor {
  #before = '';
  /** Whether the previous word announced a secret. */
  #isSecret = false;

  word(whole: string): string {
    if (whole === '') return '';
    const end = /[.:=!?\]]{0,4}$/.exec(whole.slice(-4))?.[0] ?? '';
    const word = whole.slice(0, whole.length - end.length);
    const redacted = word === '' ? '' : this.#redacted(word);
    const name = word === '' ? this.#before : this.#isKey(word) ? 'api_key' : word;
    this.#isSecret = /[:=]/.test(end) ? secretNames.test(name) : word === '' && this.#isSecret;
    if (/^(?:bearer|basic)$/i.test(word)) this.#isSecret = true;
    this.#before = name;
    return `${redacted}${end}`;
  }

  /** `API key: …` in two words. */
  #isKey(word: string): boolean {
    return /^key$/i.test(word) && /^(?:api|access|secret)$/i.test(this.#before);
  }

  #redacted(word: string): string {
    if (this.#isSecret || isSecret(word)) return '[redacted]';
    if (word.includes('://')) return publicUrl(word);
    if (isMachine(word)) return '[host]';
    return isFile(word) ? '[path]' : word;
  }
}

function isSecret(word: string): boolean {
  const [name = '', value = ''] = word.split(/[:=]/, 2);
  if (value !== '' && !word.includes('://') && secretNames.test(name)) return true;
  if (providerKeys.test(word) || cloudKeys.test(word)) return true;
  if (word.includes('@') && !word.includes('://')) return true;
  return word.split(/[^A-Za-z0-9+]/).some(isOpaque);
}

/**
 * A long generated text: keys and digests mix digits with letters of both cases, or are
 * hexadecimal.
 */
function isOpaque(text: string): boolean {
  if (text.length < 24) return false;
  return /^[0-9a-f]+$/i.test(text) || (/\d/.test(text) && /[a-z]/.test(text) && /[A-Z]/.test(text));
}

/** A public URL without credentials stays, except its query, which may contain some. */
function publicUrl(word: string): string {
  const url = URL.parse(word);
  const isPublic =
    url !== null &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    url.username === '' &&
    url.password === '' &&
    url.port === '' &&
    url.hostname.includes('.') &&
    /[a-z]$/.test(url.hostname) &&
    !internalName.test(url.hostname);
  return isPublic ? `${url.origin}${url.pathname}` : '[url]';
}

/** An IP address, a private host name, or a name with a port. */
function isMachine(word: string): boolean {
  if (/^\[?[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:\](?::\d{1,5})?)?$/i.test(word)) return true;
  const [, name = '', port] = /^([a-z0-9.-]+)(?::(\d{2,5}))?(?::\d+)?$/i.exec(word) ?? [];
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(name)) return true;
  if (internalName.test(name) && (name.includes('.') || /^localhost$/i.test(name))) return true;
  return port !== undefined && /[a-z]/i.test(name) && /[-.\d]/.test(name);
}

function isFile(word: string): boolean {
  if (/^[a-z]:\\|^\\\\/i.test(word)) return true;
  return /^(?:~|file:)?\/[^/]+\/./.test(word) && !knownPath.test(word);
}
