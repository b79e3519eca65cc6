/** The shape of one kind of credential. Each part is the source of a regular expression. */
export interface SecretShape {
  /** Stands in `[redacted:<name>]`. */
  readonly name: string;
  /** Text before the secret; it is not redacted. */
  readonly before?: string;
  readonly secret: string;
  /** Text that must follow; it is not redacted. */
  readonly after?: string;
  /** Is in every text that holds it, and is found fast: it begins with a character that texts have few of. */
  readonly sign: string;
}

/** The start of a text, another character than those of a word, or a line break as JSON writes it. */
const START = String.raw`(?:^|[^A-Za-z0-9_]|\\[nrtbf])`;

/** A secret that begins with a prefix, which ends in the character `last`. */
function prefixed(prefix: string, last: string, rest: string): Pick<SecretShape, 'secret' | 'sign'> {
  const isStart = `(?<=${START}${prefix})`;
  return { secret: `${prefix}${isStart}${rest}`, sign: `${last}${isStart}` };
}

const ASSIGNED = String.raw`\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?`;
const AUTHORIZATION = '[Aa](?:uthorization|UTHORIZATION)';
/** Words of a text have no digit: with one, it is a token. */
const HAS_DIGIT = '(?=[A-Za-z._~+/=-]{0,100}[0-9])';
const TOKEN = `${HAS_DIGIT}[A-Za-z0-9._~+/=-]{16,}`;
const NOT_QUOTED = '(?:(?!-----)[^"]){0,16000}';

/**
 * Shapes that hardly anything but a credential has: each starts with what its issuer wrote there for scanners to find,
 * or stands where credentials alone do. What a task's own data may look like (a hash, an id, random letters, the
 * value of a field called "password") is not among them. None takes more than linear time.
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
    // Not after "-", where another one may have begun.
    secret: String.raw`eyJ(?<=(?:^|[^A-Za-z0-9_-]|\\[nrtbf])eyJ)[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`,
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
