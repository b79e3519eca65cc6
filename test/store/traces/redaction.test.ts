import { describe, expect, it } from 'vitest';
import { createRedactor, NO_REDACTION } from '../../../src/support/redaction/redactor.ts';
import { isSecretName, secretsOfHeaders, secretsOfVariables } from '../../../src/support/redaction/secrets.ts';

const { text: redact } = createRedactor();

/** Written in pieces, so that no scanner takes this file for a leak. */
const made = (...pieces: readonly string[]) => pieces.join('');
const letters = 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6kL9n';

describe('credentials by their shape', () => {
  it.each([
    ['a key of OpenAI', made('sk-', 'proj-', letters), 'api_key'],
    ['a key of Anthropic', made('sk-', 'ant-api03-', letters), 'api_key'],
    ['a key of Stripe', made('sk_', 'live_', letters), 'api_key'],
    ['a key of Google', made('AI', 'za', letters.slice(0, 35)), 'api_key'],
    ['a token of GitHub', made('gh', 'p_', letters), 'github_token'],
    ['a token of GitLab', made('gl', 'pat-', letters), 'gitlab_token'],
    ['an access key of AWS', made('AK', 'IA', 'IOSFODNN7EXAMPLE'), 'aws_key_id'],
    ['a token of Slack', made('xo', 'xb-', '123456789012-', letters), 'slack_token'],
    ['a JWT', made('ey', 'JhbGciOiJIUzI1NiJ9.ey', 'JzdWIiOiIxMjM0In0.', letters), 'jwt'],
    ['a key of Proctor', made('pk_', letters, 'abc'), 'proctor_key'],
    [
      'a private key',
      made('-----BEGIN RSA ', 'PRIVATE KEY-----\nMIIEow\n-----END RSA ', 'PRIVATE KEY-----'),
      'private_key',
    ],
  ])('takes out %s, wherever it stands', (_what, secret, name) => {
    const expected = `[redacted:${name}]`;
    expect(redact(secret)).toBe(expected);
    expect(redact(`KEY=${secret}\nPATH=/bin`)).toBe(`KEY=${expected}\nPATH=/bin`);
    expect(redact(JSON.stringify({ a: `x\n${secret}`, b: secret }))).toBe(
      JSON.stringify({ a: `x\n${expected}`, b: expected }),
    );
  });

  it.each([
    ['Authorization: Bearer abcdef1234567890', 'Authorization: Bearer [redacted:authorization]'],
    ['curl -H "authorization: bearer abcdef.1234567890"', 'curl -H "authorization: bearer [redacted:authorization]"'],
    ['bearer abcdef1234567890 is it', 'bearer [redacted:bearer] is it'],
    ['{"Authorization":"Basic dXNlcjpwYXNz"}', '{"Authorization":"Basic [redacted:authorization]"}'],
    ["{'authorization': 'token 0123456789abcdef'}", "{'authorization': 'token [redacted:authorization]'}"],
    ['x-api-key: 0123456789abcdef', 'x-api-key: [redacted:api_key]'],
    ['postgres://me:s3cret@db:5432/x', 'postgres://me:[redacted:password]@db:5432/x'],
    ['GET /?token=0123456789abcdefghijklmn', 'GET /?token=[redacted:token]'],
  ])('takes the credential out of %s and leaves the rest', (given, expected) => {
    expect(redact(given)).toBe(expected);
  });

  it.each([
    'The bearer of bad news is a basic misunderstanding of internationalization.',
    'risk-free-disk-space-and-task-management-for-everyone-2024',
    'Authorization: Bearer $(cat .proctor/key)',
    'Authorization: Bearer <API_KEY>',
    'headers: { authorization: "Bearer " + process.env.API_TOKEN_2 }',
    'const apiKey = process.env.S3_ACCESS_KEY;',
    'http://127.0.0.1:8320/traces/0af7651916cd43dd8448eb211c80319c?limit=10',
    'git@github.com:someone/something.git, mailto:a:b@c.example',
    'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    '3fa85f64-5717-4562-b3fc-2c963f66afa6',
    'password: hunter2, the token of the game is a hat, key: C major',
    'sk-loading-spinner-with-a-long-class-name',
    'pk_test, hk_x, AKIA, eyJhbGciOiJIUzI1NiJ9',
  ])('leaves what a task may be about: %s', (given) => {
    expect(redact(given)).toBe(given);
  });
});

describe('secrets that the process knows', () => {
  const secret = 'p@ss"w\\rd+1/2';
  const known = createRedactor([
    { name: 'DB_PASSWORD', value: secret },
    { name: 'SHORT_TOKEN', value: 'abc1234' },
    { name: 'EMPTY_PASSWORD', value: 'postgres' },
    { name: 'MAX_TOKENS', value: '128000000' },
    { name: 'Deploy key', value: `line one of the key\nline two of the key ${letters}\n` },
  ]);

  it('are found as they are, inside of JSON and in a URL', () => {
    const expected = '[redacted:DB_PASSWORD]';
    expect(known.text(`is ${secret}!`)).toBe(`is ${expected}!`);
    expect(known.text(JSON.stringify({ secret }))).toBe(`{"secret":"${expected}"}`);
    expect(known.text(`?p=${encodeURIComponent(secret)}&q`)).toBe(`?p=${expected}&q`);
    expect(known.text(`authorization: bearer ${secret} rest`)).toContain(`${expected} rest`);
  });

  it('are whole after a prefix whose shape ends earlier', () => {
    const { text } = createRedactor([{ name: 'OWN', value: 'abcdef0123456789abcdef$tail' }]);
    expect(text('Bearer abcdef0123456789abcdef$tail.')).toBe('Bearer [redacted:OWN].');
  });

  it('of several lines are found line by line, as a log has them', () => {
    expect(known.text(`> line two of the key ${letters}`)).toBe('> [redacted:Deploy_key]');
  });

  it('are left where they are short, a number or a placeholder: texts are full of those', () => {
    const given = 'abc1234 postgres 128000000';
    expect(known.text(given)).toBe(given);
  });

  it('are found in values and keys of JSON, and what holds none is the very same value', () => {
    const clean = { a: [1, 'two', null, { b: true }] };
    expect(known.json(clean)).toBe(clean);
    expect(known.json({ a: [secret, { [secret]: 1 }], n: 5 })).toEqual({
      a: ['[redacted:DB_PASSWORD]', { '[redacted:DB_PASSWORD]': 1 }],
      n: 5,
    });
    expect(NO_REDACTION.json({ secret })).toEqual({ secret });
  });
});

describe('what is a secret by its name', () => {
  it.each([
    'OPENAI_API_KEY',
    'PGPASSWORD',
    'githubToken',
    'DB_PASS',
    'AWS_SECRET_ACCESS_KEY',
    'x-auth-token',
    'NPM_CONFIG__AUTH',
    'COOKIE',
  ])('is %s', (name) => expect(isSecretName(name)).toBe(true));

  it.each([
    'PATH',
    'PWD',
    'KEYBOARD',
    'TOKENIZERS_PARALLELISM',
    'SSH_KEY_FILE',
    'SSH_AUTH_SOCK',
    'SECRETS_URL',
    'AUTH_MODE',
    'S3_KEY_PREFIX',
    'EDITOR',
  ])('is not %s', (name) => expect(isSecretName(name)).toBe(false));

  it('reads variables and headers', () => {
    const variables = {
      HOME: '/home/somebody',
      SERVICE_TOKEN: 'value-of-the-token',
      GOOGLE_APPLICATION_CREDENTIALS: '/home/somebody/key.json',
      TOKEN_SERVICE: 'https://tokens.example/v1',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20otlp-secret-1,x-team=red-team-one',
    };
    expect(secretsOfVariables(variables)).toEqual([
      { name: 'SERVICE_TOKEN', value: 'value-of-the-token' },
      { name: 'OTEL_EXPORTER_OTLP_HEADERS', value: 'Bearer otlp-secret-1' },
      { name: 'OTEL_EXPORTER_OTLP_HEADERS', value: 'otlp-secret-1' },
    ]);
    expect(secretsOfHeaders({ 'X-Api-Key': 'abc', accept: 'text/html' })).toEqual([
      { name: 'X-Api-Key', value: 'abc' },
    ]);
  });
});

// The limit tells hours from seconds, also on a machine that has other things to do.
describe('time', { timeout: 300_000 }, () => {
  it.each([
    ...[
      'eyJ-',
      'eyJaaaaaaaa.eyJa ',
      'sk-',
      'Bearer ',
      '://:',
      '://a:b',
      'authorization: ',
      'authorization:a ',
      '?token=',
    ],
    '-----BEGIN PRIVATE KEY-----',
  ])('does not grow with the square of the length, which would take hours here: %j', (piece) => {
    const { text } = createRedactor([{ name: 'A', value: 'planted-secret-value' }]);
    const given = piece.repeat(Math.ceil((4 * 1024 * 1024) / piece.length));
    expect(text(given).length).toBeGreaterThan(0);
  });
});
