/**
 * Writes GGUF version 3, the file format of llama.cpp: a header, typed metadata, then aligned
 * tensors.
 */

/** One metadata value with its type. */
export type MetadataValue =
  | { readonly kind: 'u32' | 'i32' | 'f32'; readonly value: number }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'strings'; readonly value: readonly string[] }
  | { readonly kind: 'f32s' | 'i32s'; readonly value: readonly number[] };

/** A tensor of 32-bit floats. `dimensions` are in GGUF's order: the contiguous one first. */
export interface Tensor {
  readonly name: string;
  readonly dimensions: readonly number[];
  readonly data: Float32Array;
}

const typeCode = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 } as const;
const alignment = 32;
const f32Tensor = 0;

/** The bytes of a whole GGUF file. */
export function ggufOf(
  metadata: readonly (readonly [string, MetadataValue])[],
  tensors: readonly Tensor[],
): Buffer {
  const header = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(metadata.length)];
  for (const [key, value] of metadata) header.push(text(key), bytesOf(value));
  let offset = 0;
  for (const { name, dimensions, data } of tensors) {
    header.push(text(name), u32(dimensions.length), ...dimensions.map(u64), u32(f32Tensor), u64(offset));
    offset += aligned(data.byteLength);
  }
  const bodies = tensors.map(({ data }) => padded(Buffer.concat([...data].map(f32))));
  return Buffer.concat([padded(Buffer.concat(header)), ...bodies]);
}

function bytesOf(metadata: MetadataValue): Buffer {
  switch (metadata.kind) {
    case 'u32':
      return Buffer.concat([u32(typeCode.u32), u32(metadata.value)]);
    case 'i32':
      return Buffer.concat([u32(typeCode.i32), i32(metadata.value)]);
    case 'f32':
      return Buffer.concat([u32(typeCode.f32), f32(metadata.value)]);
    case 'bool':
      return Buffer.concat([u32(typeCode.bool), Buffer.from([metadata.value ? 1 : 0])]);
    case 'string':
      return Buffer.concat([u32(typeCode.string), text(metadata.value)]);
    case 'strings':
      return array(typeCode.string, metadata.value.map(text));
    case 'f32s':
      return array(typeCode.f32, metadata.value.map(f32));
    case 'i32s':
      return array(typeCode.i32, metadata.value.map(i32));
  }
}

function array(elementType: number, elements: readonly Buffer[]): Buffer {
  return Buffer.concat([u32(typeCode.array), u32(elementType), u64(elements.length), ...elements]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function i32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function f32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

function aligned(size: number): number {
  return Math.ceil(size / alignment) * alignment;
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(aligned(bytes.length) - bytes.length)]);
}
