import type { RunInput } from '../../../contract/service/run.ts';
import { type Field, type ReadFields, readFields } from './form-values.ts';

/** Settings of a run beside its arguments, as in `proctor run`. An empty field means the service's default. */
export const RUN_SETTINGS: readonly Field[] = [
  toSetting('Metadata', 'text', 'Lines of key=value: what the list of runs can be filtered by.'),
  toSetting('Temperature', 'number', 'Of the model, such as 0.7.'),
  toSetting('Sampling', 'json', 'Whatever else the gateway takes, such as {"top_p": 0.9}.', 'object'),
  toSetting('Seed', 'number', 'Of sampling, and of proctor/random.', 'integer'),
  toSetting('Timeout', 'number', 'Seconds that a run may take: 3600 unless it says another.', 'integer'),
];

/** Runs that one form starts: more are for the command line and for CI. */
const MOST_RUNS = 100;

export const COUNT: Field = { ...toSetting('Runs', 'number', '', 'integer'), initial: '1', isRequired: true };

/** Under which several runs of one form are found again. */
export const BATCH = 'batch';

type RunSettings = Pick<RunInput, 'metadata' | 'sampling' | 'seed' | 'timeout_seconds'>;

export interface ReadSettings extends Pick<ReadFields, 'problems'> {
  readonly settings: RunSettings;
  readonly count: number;
}

export function readSettings(texts: Readonly<Record<string, string>>): ReadSettings {
  const { args, problems } = readFields([...RUN_SETTINGS, COUNT], texts);
  const metadata = readMetadata(typeof args.Metadata === 'string' ? args.Metadata : '');
  const count = typeof args.Runs === 'number' ? args.Runs : 1;
  const sampling = { ...(args.Sampling as object | undefined), ...given('temperature', args.Temperature) };
  return {
    // Values in the types of their fields.
    settings: {
      ...given('seed', args.Seed),
      ...given('timeout_seconds', args.Timeout),
      ...(Object.keys(sampling).length === 0 ? {} : { sampling }),
      ...(metadata.size === 0 ? {} : { metadata: Object.fromEntries(metadata) }),
    } as RunSettings,
    count,
    problems: {
      ...problems,
      ...(metadata.has('') ? { Metadata: 'Each line has to be key=value, such as team=search.' } : {}),
      ...(count < 1 || count > MOST_RUNS ? { Runs: `This has to be from 1 to ${MOST_RUNS}.` } : {}),
    },
  };
}

/** The field that a parameter of the request comes from. */
export function settingOf(param: string): string | undefined {
  const [name = ''] = param.split(/[.[]/);
  const names: Readonly<Record<string, string>> = {
    metadata: 'Metadata',
    sampling: 'Sampling',
    seed: 'Seed',
    timeout_seconds: 'Timeout',
  };
  return Object.hasOwn(names, name) ? names[name] : undefined;
}

function toSetting(name: string, kind: Field['kind'], description: string, shape: Field['shape'] = null): Field {
  return {
    name,
    kind,
    shape,
    isRequired: false,
    isNullable: false,
    minLength: 0,
    description,
    range: '',
    initial: '',
    choices: [],
  };
}

function given(name: string, value: unknown): Readonly<Record<string, unknown>> {
  return value === undefined ? {} : { [name]: value };
}

/** By key; a line without one has the empty key. */
function readMetadata(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return new Map(
    lines.map((line) => {
      const at = line.indexOf('=');
      return at < 1 ? ['', line] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}
