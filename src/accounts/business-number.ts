/** A Korean business number (사업자등록번호) as its ten digits, with or without hyphens; null for anything else. */
export function parseBusinessNumber(text: string): string | null {
  const digits = /^(\d{3})-?(\d{2})-?(\d{5})$/.exec(text)?.slice(1).join('');
  return digits !== undefined && hasCheckDigit(digits) ? digits : null;
}

/** Whether the last of ten digits is the check digit of the others. */
function hasCheckDigit(digits: string): boolean {
  const weights = [1, 3, 7, 1, 3, 7, 1, 3, 5];
  const sum = weights.reduce((total, weight, at) => total + weight * Number(digits[at]), 0);
  const carry = Math.floor((5 * Number(digits[8])) / 10);
  return (10 - ((sum + carry) % 10)) % 10 === Number(digits[9]);
}
