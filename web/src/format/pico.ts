import { groupDigits, type Language } from './money.ts';

const picoPerWon = 1_000_000_000_000n;

/** An amount of pico-won, zero or more, with all its decimals: `0.0004원`, `₩0.0004`. */
export function formatPico(pico: string, language: Language): string {
  if (!/^\d+$/.test(pico)) throw new Error(`not an amount of pico-won: ${JSON.stringify(pico)}`);
  const value = BigInt(pico);
  const fraction = (value % picoPerWon).toString().padStart(12, '0').replace(/0+$/, '');
  const number = `${groupDigits(value / picoPerWon)}${fraction === '' ? '' : `.${fraction}`}`;
  return language === 'ko' ? `${number}원` : `₩${number}`;
}
