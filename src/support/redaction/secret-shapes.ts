/** The shape of one kind of credential. Each part is the source of a regular expression. */
export interface SecretShape {
  /** Name in `[redacted:<name>]`. */
  readonly name: string;
  /** Text before the secret; it is not redacted. */
  readonly before?: string;
  readonly secret: string;
  /** Text that must follow; it is not redacted. */
  readonly after?: string;
  /**
   * A pattern that every text with this secret contains. It starts with a rare character, so that searching for it is
   * fast.
   */
  readonly sign: string;
}

/** A boundary before a secret: the start of a text, a non-word character, or an escaped line break in JSON. */
const START = String.raw`(?:^|[^A-Za-z0-9_]|\\[nrtbf])`;

/** A secret with a prefix that ends in the character `last`. */
function prefixed(prefix: string, last: string, rest: string): Pick<SecretShape, 'secret' | 'sign'> {
  const isStart = `(?<=${START}${prefix})`;
  return { secret: `${prefix}${isStart}${rest}`, sign: `${last}${isStart}` };
}

const ASSIGNED = String.raw`\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?`;
const AUTHORIZATION = '[Aa](?:uthorization|UTHORIZATION)';
/** Requires a digit: ordinary words have none, tokens do. */
const HAS_DIGIT = '(?=[A-Za-z._~+/=-]{0,100}[0-9])';
const TOKEN = `${HAS_DIGIT}[A-Za-z0-9._~+/=-]{16,}`;
/** The engine keeps a place to return to for each character, and has room for some millions: so the length is bounded. */
const JWT_PART = '[A-Za-z0-9_-]{8,100000}';
const NOT_QUOTED = '(?:(?!-----)[^"]){0,16000}';

/**
 * Shapes that only credentials have: each starts with an issuer's prefix for scanners, or occurs where only credentials
 * do. Shapes of ordinary task data, such as hashes, ids, random letters, or a field called "password", are left out.
 * All take linear time.
 */
export const SECRET_SHAPES: readonly SecretShape[] = [
  { name: 'proctor_key', ...prefixed('[ph]k_', '_', '[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])') },
  { name: 'seat_secret', ...prefixed('seat_', '_', '[0-9a-f]{32}(?![A-Za-z0-9])') },
  { name: 'api_key', ...prefixed('sk-', '-', '(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{20,}') },
  { name: 'api_key', ...prefixed('[rs]k_(?:live|test)_', '_', '[A-Za-z0-9]{16,}') },
  { name: 'api_key', ...prefixed('(?:hf|gsk)_', '_', '[A-Za-z0-9]{30,}') },
  { name: 'api_key', ...prefixed('(?:xai|nvapi)-', '-', '[A-Za-z0-9_-]{30,}') },
  { name: 'api_key', ...prefixed('AIza', 'a', '[A-Za-z0-9_-]{35}'), sign: 'AIza' },
  { name: 'github_token', ...prefixed('gh[pousr]_', '_', '[A-Za-z0-9]{36,}') },
  { name: 'github_token', ...prefixed('github_pat_', '_', '[A-Za-z0-9_]{22,}') },
  { name: 'gitlab_token', ...prefixed('glpat-', '-', '[A-Za-z0-9_-]{20,}') },
  { name: 'npm_token', ...prefixed('npm_', '_', '[A-Za-z0-9]{36}') },
  { name: 'aws_key_id', ...prefixed('A(?:KI|SI)A', 'A', '[A-Z0-9]{16}(?![A-Za-z0-9])') },
  { name: 'slack_token', ...prefixed('xox[abeoprs]-', '-', '[A-Za-z0-9-]{10,}') },
  {
    name: 'jwt',
    // A preceding "-" may belong to another token.
    secret: String.raw`eyJ(?<=(?:^|[^A-Za-z0-9_-]|\\[nrtbf])eyJ)${JWT_PART}\.eyJ${JWT_PART}\.[A-Za-z0-9_-]{8,}`,
    sign: 'J(?<=eyJ)',
  },
  {
    name: 'private_key',
    secret: `-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----${NOT_QUOTED}-----END [A-Z ]{0,30}PRIVATE KEY-----`,
    sign: '-----BEGIN',
  },
  {
    name: 'bearer',
    before: String.raw`[Bb](?:earer|EARER)\s{1,4}`,
    secret: TOKEN,
    sign: String.raw`[Bb](?:earer|EARER)\s`,
  },
  {
    name: 'authorization',
    before: String.raw`${AUTHORIZATION}${ASSIGNED}[Bb]asic\s{1,4}`,
    secret: '[A-Za-z0-9+/=]{8,}',
    sign: '[zZ](?<=[Aa](?:uthoriz|UTHORIZ))',
  },
  {
    name: 'authorization',
    before: String.raw`${AUTHORIZATION}${ASSIGNED}(?:[A-Za-z]{1,20}\s{1,4})?`,
    secret: TOKEN,
    sign: '[zZ](?<=[Aa](?:uthoriz|UTHORIZ))',
  },
  {
    name: 'api_key',
    before: `[Aa](?:pi|PI)-[Kk](?:ey|EY)${ASSIGNED}`,
    secret: TOKEN,
    sign: '-(?<=[Aa](?:pi|PI)-)[Kk]',
  },
  {
    name: 'token',
    before: '[?&](?:access_token|api_key|token)=',
    secret: `${HAS_DIGIT}[A-Za-z0-9._~%+/-]{20,}`,
    sign: '[?&](?:access_token|api_key|token)=',
  },
  {
    name: 'password',
    before: String.raw`:\/\/[^\s/:@"'<>\\]{0,200}:`,
    secret: String.raw`[^\s/:@"'<>\\$\u007b]{1,200}`,
    after: '@',
    sign: String.raw`:(?=\/\/[^\s/:@"'<>\\]{0,200}:[^\s/:@"'<>\\]{1,200}@)`,
  },
];
