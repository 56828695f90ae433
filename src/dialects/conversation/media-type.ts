/** The first bytes of the kinds of image, and of a document, that upstreams accept. */
const signatures: readonly { readonly type: string; readonly at: number; readonly bytes: string }[] = [
  { type: 'image/png', at: 0, bytes: '\x89PNG' },
  { type: 'image/jpeg', at: 0, bytes: '\xff\xd8\xff' },
  { type: 'image/gif', at: 0, bytes: 'GIF8' },
  { type: 'image/webp', at: 8, bytes: 'WEBP' },
  { type: 'application/pdf', at: 0, bytes: '%PDF' },
];
/** As much base64 as the longest signature needs. */
const headLength = 16;
/** Other spellings of a type. */
const synonyms: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/pjpeg', 'image/jpeg'],
  ['image/x-png', 'image/png'],
]);

/**
 * A `data:` URI that states the type of its bytes: clients label images by the name of a file, and
 * upstreams reject a label that the bytes contradict. Any other text is returned as it is.
 */
export function withTrueType(uri: string): string {
  const head = /^data:([^;,]*)((?:;[^,]*)?;base64),/i.exec(uri.slice(0, 200));
  if (head === null) return uri;
  const [whole, stated = '', options = ''] = head;
  const start = Buffer.from(uri.slice(whole.length, whole.length + headLength), 'base64').toString('latin1');
  const found = signatures.find(({ at, bytes }) => start.startsWith(bytes, at))?.type;
  const type = found ?? synonyms.get(stated.toLowerCase()) ?? stated;
  return type === stated ? uri : `data:${type}${options},${uri.slice(whole.length)}`;
}
