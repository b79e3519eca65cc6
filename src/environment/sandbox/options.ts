import { preview } from '../../support/schema/json-schema.ts';
import {
  type FrozenFiles,
  type ImageSource,
  LIMIT_NAMES,
  type LimitName,
  type PreparedImage,
  type SandboxLabels,
  type SandboxLimits,
  type SandboxNetwork,
  type SandboxSpec,
} from './engine.ts';
import { isDestination } from './network/allow-list.ts';
import type { SandboxOptions } from './sandbox.ts';

/** The options of a sandbox after the check, with defaults. */
export interface CheckedOptions {
  readonly image: ImageSource | undefined;
  readonly workdir: string;
  readonly files: NonNullable<SandboxOptions['files']>;
  readonly user: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly network: NonNullable<SandboxOptions['network']>;
  readonly limits: SandboxLimits;
  /** Limits that the author has named. The engine has to enforce these, unless the options say `best-effort`. */
  readonly named: readonly LimitName[];
  readonly isBestEffort: boolean;
  readonly capabilities: NonNullable<SandboxOptions['capabilities']>;
}

/** Parts of a spec that are known when the sandbox is made. */
export interface SpecParts {
  readonly image: PreparedImage | FrozenFiles | undefined;
  readonly name: string;
  readonly network: SandboxNetwork;
  readonly labels: SandboxLabels;
}

export const DEFAULT_WORKDIR = '/workspace';
/** Name of the sandbox that has none. */
export const MAIN_SANDBOX = 'main';

const GIBIBYTE = 1024 ** 3;
const DEFAULT_LIMITS = { memoryBytes: GIBIBYTE, cpus: 1, processes: 256, diskBytes: 4 * GIBIBYTE } as const;
/** The engines refuse to start a program with less. */
const LEAST_BYTES = 8 * 1024 ** 2;
/** Milliseconds after which a sandbox ends by itself: longer than any run may last. */
const LIFE_MS = 25 * 60 * 60_000;

/** Variables of a sandbox that has the programs of this machine. An image brings its own. */
const VARIABLES_WITHOUT_IMAGE = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LANG: 'C.UTF-8',
} as const;

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1_000,
  MB: 1_000 ** 2,
  GB: 1_000 ** 3,
  TB: 1_000 ** 4,
  KIB: 1024,
  MIB: 1024 ** 2,
  GIB: GIBIBYTE,
  TIB: 1024 ** 4,
};
const SIZE = /^(\d+(?:\.\d+)?)\s*([KMGT]?I?B)$/i;
const SANDBOX_NAME = /^[a-z][a-z0-9-]{0,31}$/;
const USER = /^(?:[a-z_][a-z0-9_-]{0,31}|\d{1,9}(?::\d{1,9})?)$/i;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

const KNOWN: Readonly<Record<keyof SandboxOptions, true>> = {
  image: true,
  workdir: true,
  files: true,
  user: true,
  env: true,
  network: true,
  memory: true,
  cpus: true,
  processes: true,
  disk: true,
  limits: true,
  capabilities: true,
};

/** Checks the name of a sandbox, under which the other sandboxes of the session reach it. @throws TypeError */
export function checkSandboxName(name: unknown): string {
  if (typeof name === 'string' && SANDBOX_NAME.test(name)) return name;
  throw new TypeError(
    `The name of a sandbox is a host name of lowercase letters, digits and "-" that begins with a letter, got ${preview(name)}`,
  );
}

/**
 * Checks the options of a sandbox and fills in the defaults.
 *
 * @throws TypeError that names the option, the value and what is possible.
 */
export function checkSandboxOptions(name: string, options: unknown = {}): CheckedOptions {
  const label = `Sandbox "${name}"`;
  if (!isRecord(options)) throw new TypeError(`${label}: the options have to be an object, got ${preview(options)}`);
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(KNOWN, key));
  if (unknown !== undefined) {
    throw new TypeError(`${label} has no option ${preview(unknown)}: use ${Object.keys(KNOWN).join(', ')}`);
  }
  const given = options as Readonly<Record<keyof SandboxOptions, unknown>>;
  const refuse = (option: string, wanted: string, value: unknown): never => {
    throw new TypeError(`${label}: ${option} has to be ${wanted}, got ${preview(value)}`);
  };
  const image = checkImage(given.image, refuse);
  const workdir = checkWorkdir(given.workdir, refuse);
  const user = given.user ?? undefined;
  if (user !== undefined && !(typeof user === 'string' && USER.test(user))) {
    refuse('user', 'a user name, or "uid" or "uid:gid" in numbers', user);
  }
  const env = checkEnv(given.env, refuse);
  const home = image === undefined ? { ...VARIABLES_WITHOUT_IMAGE, HOME: workdir } : {};
  return {
    image,
    workdir,
    files: checkFiles(given.files, refuse),
    user: user as string | undefined,
    env: { ...home, ...env },
    network: checkNetwork(given.network, refuse),
    limits: {
      memoryBytes: sizeOf('memory', given.memory, DEFAULT_LIMITS.memoryBytes, refuse),
      cpus: numberOf('cpus', given.cpus, DEFAULT_LIMITS.cpus, refuse),
      processes: numberOf('processes', given.processes, DEFAULT_LIMITS.processes, refuse),
      diskBytes: sizeOf('disk', given.disk, DEFAULT_LIMITS.diskBytes, refuse),
    },
    named: LIMIT_NAMES.filter((limit) => given[limit] !== undefined),
    isBestEffort: oneOf('limits', given.limits, ['enforced', 'best-effort'], refuse) === 'best-effort',
    capabilities: oneOf('capabilities', given.capabilities, ['default', 'drop-all', 'engine'], refuse),
  };
}

/** The spec that an engine makes a sandbox from. */
export function toSpec(checked: CheckedOptions, { image, name, network, labels }: SpecParts): SandboxSpec {
  const { workdir, user, env, limits, capabilities } = checked;
  return { image, name, workdir, user, env, limits, network, capabilities, mounts: [], labels, lifeMs: LIFE_MS };
}

/** An image in a sentence: its name, or the folder that it is built from. */
export function imageText(image: ImageSource): string {
  return typeof image === 'string' ? image : `the folder ${image.build}`;
}

type Refuse = (option: string, wanted: string, value: unknown) => never;

function checkImage(image: unknown, refuse: Refuse): ImageSource | undefined {
  if (image === undefined) return undefined;
  if (typeof image === 'string' && /^[^\s-]\S*$/.test(image)) return image;
  const { build, dockerfile, args, ...others } = isRecord(image) ? image : {};
  const isBuild =
    typeof build === 'string' &&
    build !== '' &&
    (dockerfile === undefined || typeof dockerfile === 'string') &&
    (args === undefined || isTexts(args)) &&
    Object.keys(others).length === 0;
  if (isBuild) return image as ImageSource;
  return refuse('image', 'the name of an image, or { build: folder, dockerfile, args }', image);
}

function checkWorkdir(workdir: unknown, refuse: Refuse): string {
  if (workdir === undefined) return DEFAULT_WORKDIR;
  const isPath = typeof workdir === 'string' && /^\/[^\0]/.test(workdir) && !workdir.split('/').includes('..');
  if (isPath) return workdir.replace(/\/+/g, '/').replace(/\/$/, '');
  return refuse('workdir', 'the absolute path of a folder other than "/"', workdir);
}

function checkFiles(files: unknown, refuse: Refuse): CheckedOptions['files'] {
  if (files === undefined) return {};
  if (!isRecord(files)) return refuse('files', 'an object with contents by path', files);
  for (const [path, content] of Object.entries(files)) {
    if (path === '' || path.startsWith('/') || path.includes('\0') || path.split('/').includes('..')) {
      refuse('a path of files', 'relative to workdir, without ".."', path);
    }
    const isFolder = isRecord(content) && typeof content.folder === 'string' && Object.keys(content).length === 1;
    if (typeof content === 'string' || content instanceof Uint8Array || isFolder) continue;
    refuse(`files[${JSON.stringify(path)}]`, 'text, bytes (Uint8Array) or { folder: path }', content);
  }
  return files as CheckedOptions['files'];
}

function checkEnv(env: unknown, refuse: Refuse): Readonly<Record<string, string>> {
  if (env === undefined) return {};
  if (!isRecord(env)) return refuse('env', 'an object of texts', env);
  for (const [name, value] of Object.entries(env)) {
    if (!VARIABLE.test(name)) refuse('a name of env', 'of letters, digits and "_"', name);
    // The message does not show the value, because it may be a secret.
    if (typeof value !== 'string') refuse(`env.${name}`, 'text', typeof value);
    else if (value.includes('\0')) refuse(`env.${name}`, 'text without a NUL character', 'text with one');
  }
  return env as Readonly<Record<string, string>>;
}

function checkNetwork(network: unknown, refuse: Refuse): CheckedOptions['network'] {
  if (network === undefined || network === 'none') return 'none';
  if (network === 'open') return 'open';
  const wanted = '"none", "open" or { allow: ["example.org", "*.example.org", "10.0.0.0/8", "host:port"] }';
  if (!isRecord(network) || !Array.isArray(network.allow) || Object.keys(network).length !== 1) {
    return refuse('network', wanted, network);
  }
  const allow: readonly unknown[] = network.allow;
  const expected = 'a host, a "*." host, an address or a range, with or without ":port"';
  return {
    allow: allow.map((entry) => (isDestination(entry) ? entry : refuse('an entry of network.allow', expected, entry))),
  };
}

/** A size as bytes or text such as `2GiB`. @throws TypeError that names where it stands. */
export function bytesOf(given: unknown, where: string): number {
  const number = typeof given === 'string' && /^\d+$/.test(given.trim()) ? Number(given) : given;
  const bytes = toBytes(number);
  if (Number.isSafeInteger(bytes) && bytes >= 0) return bytes;
  throw new TypeError(`${where} has to be a number of bytes or text such as "2GiB", got ${preview(given)}`);
}

function toBytes(given: unknown): number {
  const [, count, unit = ''] = (typeof given === 'string' && SIZE.exec(given.trim())) || [];
  return typeof given === 'number' ? given : Math.round(Number(count) * (UNITS[unit.toUpperCase()] ?? Number.NaN));
}

function sizeOf(option: LimitName, given: unknown, fallback: number, refuse: Refuse): number {
  if (given === undefined) return fallback;
  const bytes = toBytes(given);
  if (Number.isSafeInteger(bytes) && bytes >= LEAST_BYTES) return bytes;
  return refuse(option, 'a number of bytes or text such as "512MiB", 8MiB or more', given);
}

function numberOf(option: 'cpus' | 'processes', given: unknown, fallback: number, refuse: Refuse): number {
  if (given === undefined) return fallback;
  const isNumber = typeof given === 'number' && Number.isFinite(given);
  if (option === 'cpus' && isNumber && given >= 0.01 && given <= 1_024) return given;
  if (option === 'processes' && isNumber && Number.isInteger(given) && given >= 1 && given <= 4_194_304) return given;
  return refuse(option, option === 'cpus' ? 'a number from 0.01 on' : 'a whole number from 1 on', given);
}

function oneOf<const Text extends string>(
  option: string,
  given: unknown,
  texts: readonly [Text, ...Text[]],
  refuse: Refuse,
): Text {
  if (given === undefined) return texts[0];
  const found = texts.find((text) => text === given);
  return found ?? refuse(option, texts.map((text) => JSON.stringify(text)).join(', '), given);
}

function isTexts(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((text) => typeof text === 'string');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}
