import { UnsupportedRequest } from '../dialect.ts';
import type { FilePart } from './types.ts';

/** The URLs that an upstream fetches itself, by media type: a package's `supportedUrls`. */
export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

type Part = Readonly<Record<string, unknown>>;

const typeOfEnding: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['pdf', 'application/pdf'],
  ['mp4', 'video/mp4'],
  ['webm', 'video/webm'],
]);

/**
 * An image, recording, film or document of a message. A URL is passed on to an upstream that
 * fetches such URLs itself; nothing is ever fetched here. Throws `UnsupportedRequest` for
 * everything else.
 */
export function filePart(part: Part, urls: SupportedUrls): FilePart {
  switch (part['type']) {
    case 'image_url':
    case 'input_image':
      return fromAddress(addressOf(part['image_url']), 'image/*', urls);
    case 'video_url':
    case 'input_video':
      return fromAddress(addressOf(part['video_url']), 'video/mp4', urls);
    case 'input_audio':
      return recording(part['input_audio']);
    case 'file':
      return document(part['file'], urls);
    default:
      throw new UnsupportedRequest(`a part of type ${String(part['type']).slice(0, 40)}`);
  }
}

function recording(audio: unknown): FilePart {
  const { data, format } = objectOf(audio);
  if (typeof data !== 'string' || typeof format !== 'string')
    throw new UnsupportedRequest('audio without data');
  const mediaType = format === 'mp3' ? 'audio/mpeg' : `audio/${format}`;
  return { type: 'file', mediaType, data: { type: 'data', data } };
}

function document(file: unknown, urls: SupportedUrls): FilePart {
  const { file_data: address, filename } = objectOf(file);
  const part = fromAddress(addressOf(address), 'application/pdf', urls);
  return typeof filename === 'string' ? { ...part, filename } : part;
}

/** `assumed` is the media type when neither the part nor the file extension has one. */
function fromAddress(address: string, assumed: string, urls: SupportedUrls): FilePart {
  if (address.startsWith('data:')) return fromDataUri(address, assumed);
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
    throw new UnsupportedRequest('an invalid URL');
  const url = new URL(address);
  const ending = /\.([a-z0-9]{2,4})$/i.exec(url.pathname)?.[1]?.toLowerCase() ?? '';
  const mediaType = typeOfEnding.get(ending) ?? assumed;
  if (!fetches(urls, url, mediaType)) throw new UnsupportedRequest('a URL that the upstream does not fetch');
  return { type: 'file', mediaType, data: { type: 'url', url } };
}

function fromDataUri(uri: string, assumed: string): FilePart {
  const comma = uri.indexOf(',');
  const head = comma === -1 ? '' : uri.slice('data:'.length, comma);
  if (!head.endsWith(';base64')) throw new UnsupportedRequest('data that is not in base64');
  const [stated = ''] = head.split(';');
  const mediaType = stated.includes('/') ? stated : assumed;
  return { type: 'file', mediaType, data: { type: 'data', data: uri.slice(comma + 1) } };
}

/**
 * The operator's own files at the upstream are not for clients, so URLs of the upstream itself are
 * not passed on.
 */
function fetches(urls: SupportedUrls, url: URL, mediaType: string): boolean {
  if (url.hostname.endsWith('.googleapis.com')) return false;
  return Object.entries(urls).some(([pattern, expressions]) => {
    const prefix = pattern.replace(/\*.*$/, '');
    const fits = prefix.endsWith('/') || prefix === '' ? mediaType.startsWith(prefix) : mediaType === prefix;
    return fits && expressions.some((expression) => expression.test(url.href));
  });
}

/** `{ url }`, or the plain string that some clients send. */
function addressOf(value: unknown): string {
  const address = typeof value === 'string' ? value : objectOf(value)['url'];
  if (typeof address !== 'string') throw new UnsupportedRequest('a media part without data');
  return address;
}

function objectOf(value: unknown): Part {
  return typeof value === 'object' && value !== null ? (value as Part) : {};
}
