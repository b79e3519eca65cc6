/** Proctor's own variables that children get: they locate a program and hold no secret. */
const PASSED_ON: ReadonlySet<string> = new Set(['PROCTOR_CHROMIUM']);
const SECRET_NAME =
  /^PROCTOR_|API_?KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|^OTEL_.*HEADERS$|(?:TOKEN|CREDENTIALS|PRIVATE_?KEY|ACCESS_?KEY|_PASS|_PWD)$/i;
/** An address with a password in it. */
const SECRET_VALUE = /^[a-z][a-z\d+.-]*:\/\/[^/\s@]*:[^/\s@]+@/i;
/** Without its proxy it would reach nothing. */
const PROXY_NAME = /_PROXY$/i;

/**
 * The environment variables of an environment's process: those of this process except its secrets, and what the target
 * adds, which comes last and is not judged.
 *
 * Left out are the headers of exporters (`OTEL_*HEADERS`), and names that start with `PROCTOR_` (`PROCTOR_CHROMIUM`
 * passes), that contain `API_KEY`, `SECRET`, `PASSWORD` or `PASSPHRASE`, or that end in `TOKEN`, `CREDENTIALS`,
 * `PRIVATE_KEY`, `ACCESS_KEY`, `_PASS` or `_PWD`; and addresses with a password in them, but those of proxies. A model drives
 * the environment, and the keys of the gateway, of the database and of the service are not the environment's.
 * An environment that needs such a variable is given it in the `env` of its target.
 * Everything else passes: `PATH`, `HOME`, `LANG`, `TMPDIR`, `NODE_OPTIONS`, `RETAIL_DATA`.
 */
export function toChildVariables(
  own: Readonly<Record<string, string | undefined>>,
  added: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value !== undefined && (PASSED_ON.has(name) || !isSecret(name, value))) passed[name] = value;
  }
  return { ...passed, ...added };
}

function isSecret(name: string, value: string): boolean {
  return SECRET_NAME.test(name) || (SECRET_VALUE.test(value) && !PROXY_NAME.test(name));
}
