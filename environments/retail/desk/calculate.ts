import { DeskError } from './desk-error.ts';
import { round2, toDecimalText } from './numbers.ts';

/**
 * Evaluates an arithmetic expression in doubles and gives the value, rounded to two decimals, as text.
 *
 *     sum     = product { ("+" | "-") product }
 *     product = signed { ("*" | "/" | "//") signed }
 *     signed  = ("+" | "-") signed | power
 *     power   = atom [ "**" signed ]
 *     atom    = number | "(" sum ")"
 *
 * @throws DeskError for a character outside `0-9 + - * / ( ) .` and space, and for what cannot be parsed or evaluated.
 */
export function calculate(expression: string): string {
  if (/[^0-9+\-*/(). ]/.test(expression)) throw new DeskError('Invalid characters in expression');
  return toDecimalText(round2(new Parser(toTokens(expression)).parse().value));
}

/** Brackets, signs and powers within each other: far more than anyone writes, far less than the stack holds. */
const MAX_DEPTH = 200;

/**
 * `isWhole` while only whole numbers took part: their zero has no sign, as that of integers, whereas a double's zero may
 * be negative.
 */
interface Operand {
  readonly value: number;
  readonly isWhole: boolean;
}

function toTokens(expression: string): readonly string[] {
  return expression.match(/\d+\.?\d*|\.\d+|\*\*|\/\/|[+\-*/().]/g) ?? [];
}

class Parser {
  readonly #tokens: readonly string[];
  #position = 0;
  #depth = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  parse(): Operand {
    const result = this.#sum();
    const rest = this.#tokens[this.#position];
    if (rest !== undefined) throw new DeskError(`The expression cannot be parsed: unexpected '${rest}'`);
    return result;
  }

  #sum(): Operand {
    let left = this.#product();
    for (let sign = this.#take('+', '-'); sign !== undefined; sign = this.#take('+', '-')) {
      left = combine(sign, left, this.#product());
    }
    return left;
  }

  #product(): Operand {
    let left = this.#signed();
    for (let sign = this.#take('*', '/', '//'); sign !== undefined; sign = this.#take('*', '/', '//')) {
      left = combine(sign, left, this.#signed());
    }
    return left;
  }

  #signed(): Operand {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new DeskError('The expression cannot be parsed: it is nested too deeply');
    const sign = this.#take('+', '-');
    const operand = sign === undefined ? this.#power() : this.#signed();
    this.#depth -= 1;
    return sign === '-' ? toOperand(-operand.value, operand.isWhole) : operand;
  }

  #power(): Operand {
    const base = this.#atom();
    return this.#take('**') === undefined ? base : combine('**', base, this.#signed());
  }

  #atom(): Operand {
    const token = this.#tokens[this.#position];
    if (token === undefined) throw new DeskError('The expression cannot be parsed: it ends too early');
    this.#position += 1;
    if (token === '(') {
      const inner = this.#sum();
      if (this.#take(')') === undefined) throw new DeskError("The expression cannot be parsed: a ')' is missing");
      return inner;
    }
    if (!/^(\.\d|\d)/.test(token)) throw new DeskError(`The expression cannot be parsed: unexpected '${token}'`);
    if (/^0\d/.test(token)) throw new DeskError(`The expression cannot be parsed: '${token}' has a leading zero`);
    return toOperand(Number(token), !token.includes('.'));
  }

  #take(...signs: readonly string[]): string | undefined {
    const token = this.#tokens[this.#position];
    if (token === undefined || !signs.includes(token)) return undefined;
    this.#position += 1;
    return token;
  }
}

function combine(sign: string, left: Operand, right: Operand): Operand {
  return toOperand(apply(sign, left.value, right.value), left.isWhole && right.isWhole);
}

function toOperand(value: number, isWhole: boolean): Operand {
  if (!Number.isFinite(value))
    throw new DeskError('The expression cannot be evaluated: its value is not a finite number');
  return { value: isWhole && value === 0 ? 0 : value, isWhole };
}

function apply(sign: string, left: number, right: number): number {
  switch (sign) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '**':
      return left ** right;
    default:
      if (right === 0) throw new DeskError('The expression cannot be evaluated: division by zero');
      return sign === '/' ? left / right : floorDivide(left, right);
  }
}

/** By the exact remainder: `Math.floor(1 / 0.1)` is 10, because the quotient was rounded up, but 0.1 fits in 1 nine times. */
function floorDivide(left: number, right: number): number {
  const remainder = left % right;
  const below = remainder !== 0 && remainder < 0 !== right < 0 ? 1 : 0;
  const quotient = (left - remainder) / right - below;
  return quotient === 0 ? (left / right) * 0 : Math.round(quotient);
}
