/** A segment of a path without percent-encoding; as it is where that is malformed. */
export function decodedSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
