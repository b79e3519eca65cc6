const NAME = 'proctor_session';
const MAX_AGE_SECONDS = 30 * 24 * 60 * 60;

/** The `Set-Cookie` value of a signed-in browser (contract section 4): HttpOnly, SameSite=Strict, 30 days. */
export function sessionCookie(session: string): string {
  return `${NAME}=${session}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${MAX_AGE_SECONDS}`;
}

/** The session in a `Cookie` header; undefined without one. */
export function readSessionCookie(header: string | undefined): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [name, value] = pair.trim().split('=');
    if (name === NAME && value !== undefined && value !== '') return value;
  }
  return undefined;
}
