/** Deeper values are not complete: nothing nests so deep, and each level takes memory. */
const maxDepth = 10_000;

/** What was read last, which decides what may follow. */
type State =
  | 'value' // a value must follow
  | 'open array' // a value or the end of the array
  | 'open object' // a name or the end of the object
  | 'name' // a name must follow
  | 'colon'
  | 'after value'
  | 'string'
  | 'escape'
  | 'hex digits'
  | 'literal'
  | NumberState
  | 'no JSON';

type NumberState =
  | 'minus'
  | 'zero'
  | 'integer'
  | 'point'
  | 'fraction'
  | 'exponent'
  | 'exponent sign'
  | 'exponent digits';

/**
 * Recognizes JSON text that arrives in pieces, as `JSON.parse` would of all of them, but reads each
 * piece once and keeps none: the work is linear in the text, however often one asks.
 */
export class JsonRecognizer {
  #state: State = 'value';
  /** For each open object true, for each open array false. */
  readonly #open: boolean[] = [];
  /** Whether the string is the name of a member. */
  #inName = false;
  /** The characters that are left of `true`, `false` or `null`. */
  #literal = '';
  #hexDigits = 0;

  /** Whether the pieces so far are one complete value. */
  get isComplete(): boolean {
    return this.#open.length === 0 && (this.#state === 'after value' || isNumberEnd(this.#state));
  }

  /** Reads the next piece. */
  push(piece: string): void {
    for (let at = 0; at < piece.length && this.#state !== 'no JSON'; at += 1) {
      if (this.#state === 'string') at = plainEnd(piece, at);
      if (at < piece.length) this.#state = this.#next(piece.charAt(at));
    }
  }

  #next(char: string): State {
    switch (this.#state) {
      case 'value':
        return isSpace(char) ? 'value' : this.#beginValue(char);
      case 'open array':
        if (isSpace(char)) return 'open array';
        return char === ']' ? this.#close(false) : this.#beginValue(char);
      case 'open object':
        if (isSpace(char)) return 'open object';
        return char === '}' ? this.#close(true) : this.#beginName(char);
      case 'name':
        return isSpace(char) ? 'name' : this.#beginName(char);
      case 'colon':
        if (isSpace(char)) return 'colon';
        return char === ':' ? 'value' : 'no JSON';
      case 'after value':
        return this.#afterValue(char);
      case 'string':
        return this.#inString(char);
      case 'escape':
        return this.#escaped(char);
      case 'hex digits':
        if (!isHexDigit(char)) return 'no JSON';
        this.#hexDigits -= 1;
        return this.#hexDigits === 0 ? 'string' : 'hex digits';
      case 'literal':
        return this.#inLiteral(char);
      case 'no JSON':
        return 'no JSON';
      default:
        return inNumber(this.#state, char) ?? (isNumberEnd(this.#state) ? this.#afterValue(char) : 'no JSON');
    }
  }

  #beginValue(char: string): State {
    switch (char) {
      case '{':
      case '[':
        this.#open.push(char === '{');
        if (this.#open.length > maxDepth) return 'no JSON';
        return char === '{' ? 'open object' : 'open array';
      case '"':
        this.#inName = false;
        return 'string';
      case 't':
        return this.#beginLiteral('rue');
      case 'f':
        return this.#beginLiteral('alse');
      case 'n':
        return this.#beginLiteral('ull');
      case '-':
        return 'minus';
      case '0':
        return 'zero';
      default:
        return isDigit(char) ? 'integer' : 'no JSON';
    }
  }

  #beginName(char: string): State {
    this.#inName = true;
    return char === '"' ? 'string' : 'no JSON';
  }

  #beginLiteral(rest: string): State {
    this.#literal = rest;
    return 'literal';
  }

  #inLiteral(char: string): State {
    if (char !== this.#literal.charAt(0)) return 'no JSON';
    this.#literal = this.#literal.slice(1);
    return this.#literal === '' ? 'after value' : 'literal';
  }

  #inString(char: string): State {
    if (char === '"') return this.#inName ? 'colon' : 'after value';
    if (char === '\\') return 'escape';
    return char < ' ' ? 'no JSON' : 'string';
  }

  #escaped(char: string): State {
    if (char !== 'u') return '"\\/bfnrt'.includes(char) ? 'string' : 'no JSON';
    this.#hexDigits = 4;
    return 'hex digits';
  }

  #afterValue(char: string): State {
    const inObject = this.#open.at(-1);
    if (isSpace(char)) return 'after value';
    if (char === ',' && inObject !== undefined) return inObject ? 'name' : 'value';
    return char === '}' || char === ']' ? this.#close(char === '}') : 'no JSON';
  }

  /** Ends an object or an array. */
  #close(isObject: boolean): State {
    return this.#open.pop() === isObject ? 'after value' : 'no JSON';
  }
}

/** The offset after the characters of a string that are neither its end nor an escape. */
function plainEnd(piece: string, from: number): number {
  let at = from;
  for (; at < piece.length; at += 1) {
    const unit = piece.charCodeAt(at);
    if (unit < 0x20 || unit === 0x22 || unit === 0x5c) break;
  }
  return at;
}

/** The state after a character that continues a number; null for another one. */
function inNumber(state: NumberState, char: string): State | null {
  switch (state) {
    case 'minus':
      return char === '0' ? 'zero' : isDigit(char) ? 'integer' : null;
    case 'integer':
      if (isDigit(char)) return 'integer';
      return char === '.' ? 'point' : isExponent(char) ? 'exponent' : null;
    case 'zero':
      return char === '.' ? 'point' : isExponent(char) ? 'exponent' : null;
    case 'point':
      return isDigit(char) ? 'fraction' : null;
    case 'fraction':
      return isDigit(char) ? 'fraction' : isExponent(char) ? 'exponent' : null;
    case 'exponent':
      if (char === '+' || char === '-') return 'exponent sign';
      return isDigit(char) ? 'exponent digits' : null;
    case 'exponent sign':
    case 'exponent digits':
      return isDigit(char) ? 'exponent digits' : null;
  }
}

/** Whether a number may end in a state. */
function isNumberEnd(state: State): boolean {
  return state === 'zero' || state === 'integer' || state === 'fraction' || state === 'exponent digits';
}

function isDigit(char: string): boolean {
  return char >= '0' && char <= '9';
}

function isHexDigit(char: string): boolean {
  return isDigit(char) || (char >= 'a' && char <= 'f') || (char >= 'A' && char <= 'F');
}

function isExponent(char: string): boolean {
  return char === 'e' || char === 'E';
}

function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\t' || char === '\r';
}
