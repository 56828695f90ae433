import { randomFillSync } from 'node:crypto';
import { leadOfAccount } from './account-hash.ts';

/**
 * A generation has one identity in two spellings. Internally it is a version 7 UUID (so that rows
 * sort and partition by time); externally `gen-<unix seconds>-<15 base62>`, the spelling of
 * OpenRouter. The two map to each other without a table. The UUID's 48 bits of milliseconds are the
 * seconds plus 10 bits. These and its 74 other bits make 84 bits, written as three groups of 28
 * bits in five base62 digits each. The first 12 of the 74 become those of the account once that is known
 * (`withLead`); the rest is random.
 */
declare const brand: unique symbol;
/** 32 lowercase hex digits of a version 7 UUID. */
export type GenerationUuid = string & { readonly [brand]: 'generation' };

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const digitOf = new Map([...alphabet].map((char, value) => [char, value]));
const group = 2 ** 28;

// Random bytes are drawn for 512 identities at a time: one call for each costs more than the rest
// of the work.
const pool = Buffer.alloc(10 * 512);
let poolOffset = pool.length;

/** A new identity for a generation that begins at `epochMs`. */
export function newGenerationUuid(epochMs: number): GenerationUuid {
  if (poolOffset === pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  const randomA = pool.readUInt16BE(poolOffset) & 0x0fff;
  const randomB = pool.readUInt16BE(poolOffset + 2) & 0x3fff;
  const tail = pool.toString('hex', poolOffset + 4, poolOffset + 10);
  poolOffset += 10;
  return `${hex(epochMs, 12)}7${hex(randomA, 3)}${hex(0x8000 | randomB, 4)}${tail}` as GenerationUuid;
}

/** The same identity with the lead of its account in place of its first 12 random bits. */
export function withLead(uuid: GenerationUuid, accountId: number): GenerationUuid {
  return `${uuid.slice(0, 13)}${hex(leadOfAccount(accountId), 3)}${uuid.slice(16)}` as GenerationUuid;
}

/** The lead of the account that has the generation; any number for an identity without one. */
export function leadOf(uuid: string): number {
  return parseInt(uuid.slice(13, 16), 16);
}

/** The public spelling, `gen-…`. */
export function generationIdOf(uuid: GenerationUuid): string {
  const epochMs = parseInt(uuid.slice(0, 12), 16);
  const seconds = Math.floor(epochMs / 1000);
  const randomA = parseInt(uuid.slice(13, 16), 16);
  const randomB1 = parseInt(uuid.slice(16, 20), 16) & 0x3fff;
  const randomB2 = parseInt(uuid.slice(20, 26), 16);
  const randomB3 = parseInt(uuid.slice(26, 32), 16);
  // 84 bits in order: 10 of milliseconds, 12 of a, 14 + 24 + 24 of b.
  const first = (epochMs - seconds * 1000) * 2 ** 18 + randomA * 2 ** 6 + (randomB1 >> 8);
  const second = (randomB1 & 0xff) * 2 ** 20 + (randomB2 >> 4);
  const third = (randomB2 & 0xf) * 2 ** 24 + randomB3;
  return `gen-${seconds}-${base62(first)}${base62(second)}${base62(third)}`;
}

/** The identity of a public id; null when Naru could not have made it. */
export function parseGenerationId(id: string): GenerationUuid | null {
  const parts = /^gen-([1-9]\d{0,10})-([0-9A-Za-z]{15})$/.exec(id);
  if (parts === null) return null;
  const [, seconds = '', digits = ''] = parts;
  const [first, second, third] = [0, 5, 10].map((at) => unbase62(digits.slice(at, at + 5)));
  if (first === undefined || second === undefined || third === undefined) return null;
  if (first >= group || second >= group || third >= group) return null;
  const ms = Math.floor(first / 2 ** 18);
  if (ms > 999) return null;
  const randomA = Math.floor(first / 2 ** 6) % 2 ** 12;
  const randomB1 = (first % 2 ** 6) * 2 ** 8 + Math.floor(second / 2 ** 20);
  const randomB2 = (second % 2 ** 20) * 2 ** 4 + Math.floor(third / 2 ** 24);
  const epochMs = Number(seconds) * 1000 + ms;
  return `${hex(epochMs, 12)}7${hex(randomA, 3)}${hex(0x8000 | randomB1, 4)}${hex(randomB2, 6)}${hex(third % 2 ** 24, 6)}` as GenerationUuid;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

function base62(value: number): string {
  let text = '';
  for (let rest = value, digit = 0; digit < 5; digit += 1, rest = Math.floor(rest / 62)) {
    text = alphabet.charAt(rest % 62) + text;
  }
  return text;
}

function unbase62(digits: string): number {
  let value = 0;
  for (const char of digits) value = value * 62 + (digitOf.get(char) ?? Number.NaN);
  return value;
}
