/** Variables that programs need to find other programs, folders and their language. */
const SURROUNDINGS =
  'PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM COLORTERM NO_COLOR FORCE_COLOR CI TMPDIR TMP TEMP ' +
  'DISPLAY WAYLAND_DISPLAY XAUTHORITY';
/** Certificates, which are needed behind the proxy of a company. */
const CERTIFICATES = 'SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS';
/** Settings of runtimes and of their installers. */
const RUNTIMES =
  'NODE_ENV NODE_OPTIONS NODE_PATH NODE_USE_ENV_PROXY NODE_USE_SYSTEM_CA NODE_V8_COVERAGE TSX_TSCONFIG_PATH ' +
  'NVM_DIR NVM_BIN VOLTA_HOME PNPM_HOME ASDF_DIR ASDF_DATA_DIR LD_LIBRARY_PATH DYLD_LIBRARY_PATH ' +
  'DYLD_FALLBACK_LIBRARY_PATH JAVA_HOME VIRTUAL_ENV PYTHONPATH PYTHONHOME PYTHONUNBUFFERED CONDA_PREFIX ' +
  'CONDA_DEFAULT_ENV PLAYWRIGHT_BROWSERS_PATH PUPPETEER_EXECUTABLE_PATH HF_HOME TORCH_HOME OMP_NUM_THREADS ' +
  'XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR XDG_CONFIG_DIRS XDG_DATA_DIRS ' +
  'CUDA_HOME CUDA_PATH CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER NVIDIA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES ' +
  'FNM_DIR FNM_MULTISHELL_PATH PROCTOR_CHROMIUM PROCTOR_SANDBOX';
const PASSED_ON: ReadonlySet<string> = new Set(`${SURROUNDINGS} ${CERTIFICATES} ${RUNTIMES}`.split(' '));
/** Settings of the language. No other prefix is passed on, because others also match keys, such as `NVIDIA_API_KEY`. */
const PASSED_GROUP = /^LC_/;
const PROXY_NAME = /^(?:https?|ftp|all|no)_proxy$/i;
/** An address that contains a password, which must not be passed on. */
const SECRET_VALUE = /^[a-z][a-z\d+.-]*:\/\/[^/\s@]*:[^/\s@]+@/i;

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * The environment variables of a child process that runs foreign code: those of this process that are on a short list,
 * and those that the configuration adds (`added`), which are not checked.
 *
 * The list contains what programs need to run and to use the network: `PATH`, `HOME`, `LANG`, `TMPDIR`, proxies,
 * certificates, settings of runtimes. All other variables are withheld, because the name of a variable does not show
 * whether it is a secret. A model controls the child, which must not see the keys of gateways, trainers, databases and
 * the service. An address with a password is withheld too, except for a proxy.
 */
export function toChildVariables(own: Variables, added: Readonly<Record<string, string>> = {}): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value !== undefined && isPassedOn(name, value)) passed[name] = value;
  }
  return { ...passed, ...added };
}

function isPassedOn(name: string, value: string): boolean {
  if (PROXY_NAME.test(name)) return true;
  return (PASSED_ON.has(name) || PASSED_GROUP.test(name)) && !SECRET_VALUE.test(value);
}

/** The variables of this process, to explain how a child can get one that was withheld. */
export interface WithheldVariables {
  readonly own: Variables;
  /** Says how to give the child a variable, as a clause of a sentence. */
  remedy(name: string): string;
}

/** The withheld variables of an environment's process, with the advice to name them in the configuration. */
export function withheldFromEnvironment(own: Variables): WithheldVariables {
  return { own, remedy: (name) => nameIt('environments.<name>.env of proctor.config.ts', name) };
}

/** @param place is a place in a configuration or in the author's code. */
export function nameIt(place: string, name: string): string {
  return `name it in ${place}, as { ${name}: process.env.${name} }`;
}

/** Names of variables that are set here, were withheld from the child, and appear in a text of the child. */
function missedVariables(text: string, own: Variables, given: Variables): readonly string[] {
  const words = new Set(text.match(/\b[A-Za-z_][A-Za-z0-9_]{2,}\b/g));
  return Object.keys(own)
    .filter((name) => own[name] && given[name] === undefined && words.has(name))
    .sort();
}

/** A sentence about withheld variables that the last output of a child mentions. Empty if it mentions none. */
export function missedHint(text: string, { own, remedy }: WithheldVariables, given: Variables): string {
  const names = missedVariables(text, own, given);
  const [first] = names;
  if (first === undefined) return '';
  return `Set here and not passed on: ${names.join(', ')}. If it needs ${first}, ${remedy(first)}.`;
}
