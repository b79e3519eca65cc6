/** Of Proctor's own, what says where a program is and no secret. */
const PASSED_ON: ReadonlySet<string> = new Set(['PROCTOR_CHROMIUM']);
const SECRET_NAME = /^PROCTOR_|API_?KEY|SECRET|PASSWORD|PASSWD|(?:TOKEN|CREDENTIALS|PRIVATE_?KEY|ACCESS_?KEY)$/i;

/**
 * The environment variables of an environment's process: those of this process except its secrets, and what the target
 * adds, which comes last and is not judged.
 *
 * Left out are names that start with `PROCTOR_` (`PROCTOR_CHROMIUM` passes), that contain `API_KEY`, `SECRET` or `PASSWORD`, or that end in `TOKEN`,
 * `CREDENTIALS`, `PRIVATE_KEY` or `ACCESS_KEY`: a model drives the environment, and the keys of the gateway and of the
 * service are not the environment's. An environment that needs such a variable is given it in the `env` of its target.
 * Everything else passes: `PATH`, `HOME`, `LANG`, `TMPDIR`, `NODE_OPTIONS`, `RETAIL_DATA`.
 */
export function toChildVariables(
  own: Readonly<Record<string, string | undefined>>,
  added: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value !== undefined && (PASSED_ON.has(name) || !SECRET_NAME.test(name))) passed[name] = value;
  }
  return { ...passed, ...added };
}
