import type { Command } from 'commander';
import { messageOf } from '../../contract/errors.ts';
import { DEFAULT_PORTS } from '../../contract/names.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import { knownSecrets, operatorKeys } from '../../service/config/known-secrets.ts';
import { loadProject, type Project } from '../../service/config/project.ts';
import { createRedactor, type Redactor } from '../../support/redaction/redactor.ts';
import { secretsOfVariables } from '../../support/redaction/secrets.ts';
import { padToWidth } from '../../support/text/display-width.ts';
import { countText } from '../../support/text/figures.ts';
import { SilentFailure, UsageError } from '../base/failure.ts';
import { readKey } from '../base/local-key.ts';
import { parsePort, wholeNumber } from '../base/options.ts';
import { collectorOf } from '../base/telemetry.ts';
import { colors, print, printable, printableLines, printJson } from '../base/terminal.ts';
import { type Finding, findWithin } from './doctor/finding.ts';
import { checkGateway, gatewaysOf, NO_GATEWAY } from './doctor/gateway-checks.ts';
import { KeyCheck } from './doctor/key-check.ts';
import { checkPort } from './doctor/port-check.ts';
import { checkPrograms, lackedPrograms } from './doctor/program-checks.ts';
import { type CheckedStore, checkDisk, checkKeys, checkQueue, checkStore } from './doctor/store-checks.ts';
import { checkTelemetry } from './doctor/telemetry-check.ts';

const OLDEST_NODE = '20.19.0';
/** Limit of every check, except gateways, which have their own, and environments, which have an option. */
const CHECK_LIMIT_MS = 15_000;
/** Number of environments that are started at a time. Each may start a browser. */
const STARTED_AT_ONCE = 2;

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor [environments...]')
    .description('Check the installation: what works, what does not, and how to fix it.')
    .option('--host <host>', 'the address that you mean to serve on', '127.0.0.1')
    .option('--port <port>', 'port of the run service (default 8320)', parsePort)
    .option('--scenario-port <port>', 'port of the scenario server (default 8321)', parsePort)
    .option('--limit-seconds <seconds>', 'time for an environment to start', wholeNumber(1, 600), 60)
    .option('--json', 'print {"healthy", "checks": [{"name", "status", "message", ...}]}')
    .addHelpText(
      'after',
      `
It looks at Node.js, the configuration, the store and its disk, the queue, the keys, the gateways and the collector of spans.
It starts every environment as a run would, and ends it. In its processes it looks for keys of gateways, of trainers and
of the service, which none of them may have, and names the variable. It looks for the programs that environments name, and at the ports.
Nothing is changed and no secret is printed. It works beside a server that runs, and where nothing was ever started.

With names of environments it looks at those and no others. One that does not start because this machine lacks a program
that it names is a warning, and fails when you have named it. A scenario whose "tools" fit no tool is a warning too.

Each line begins with ok, warn or fail. Exit code: 0 when nothing fails; 1 when something does; 2 for an unknown name.

Examples:
  $ proctor doctor
  $ proctor doctor workspace
  $ proctor doctor --host 0.0.0.0 --port 9000
  $ proctor doctor --json`,
    )
    .action(doctor);
}

interface DoctorOptions {
  readonly host: string;
  readonly port?: number;
  readonly scenarioPort?: number;
  readonly limitSeconds: number;
  readonly json?: boolean;
}

async function doctor(names: readonly string[], options: DoctorOptions): Promise<void> {
  const [project, problem] = await load();
  if (project !== undefined) refuseUnknown(names, project);
  const redactor = createRedactor(
    project === undefined ? secretsOfVariables(process.env) : knownSecrets(project, process.env),
  );
  const findings: Finding[] = [];
  const tell = (finding: Finding) => {
    const shown = toShown(finding, redactor);
    findings.push(shown);
    if (!options.json) printFinding(shown);
  };
  tell(checkNode());
  tell(problem ?? { name: 'project', status: 'ok', message: describeProject(project) });
  if (project !== undefined) await checkProject(project, names, options, tell);
  const ports = project?.settings.ports ?? DEFAULT_PORTS;
  const { host, port = ports.runService, scenarioPort = ports.scenarioServer } = options;
  const places = [
    { server: 'run service', host, port, option: '--port', key: project && readKey(project) },
    { server: 'scenario server', host, port: scenarioPort, option: '--scenario-port' },
  ] as const;
  for (const place of places) tell(await findWithin(`port ${place.port}`, CHECK_LIMIT_MS, () => checkPort(place)));
  const healthy = findings.every(({ status }) => status !== 'fail');
  if (options.json) printJson({ healthy, checks: findings });
  if (!healthy) throw new SilentFailure();
}

async function checkProject(
  project: Project,
  names: readonly string[],
  options: DoctorOptions,
  tell: (finding: Finding) => void,
): Promise<void> {
  const { settings } = project;
  const isChosen = (name: string) => names.length === 0 || names.includes(name);
  const environments = new Map([...project.environments].filter(([name]) => isChosen(name)));
  // Gateways are checked in parallel to the rest.
  const gateways = gatewaysOf(settings, process.env).map((gateway) => checkGateway(gateway));
  const store = await openStore(project);
  tell(store.finding);
  const disk = await findDisk(project);
  if (disk !== undefined) tell(disk);
  tell(await findWithin('queue', CHECK_LIMIT_MS, () => checkQueue(settings, store)));
  if (store.finding.status !== 'fail') tell(checkKeys(store.report, options.host, project));
  if (gateways.length === 0) tell(NO_GATEWAY);
  for (const gateway of gateways) tell(await gateway);
  const collector = collectorOf(process.env);
  if (collector !== undefined) {
    tell(await findWithin('telemetry', CHECK_LIMIT_MS, (signal) => checkTelemetry(collector, signal)));
  }
  if (environments.size === 0) {
    const message = 'none: "proctor init <name>" makes a project with one, or name some in proctor.config.ts';
    tell({ name: 'environments', status: 'warn', message });
  }
  const programs = await checkPrograms(environments);
  for (const finding of programs) tell(finding);
  const lacked = names.length === 0 ? lackedPrograms(programs) : new Map<string, string>();
  const keys = new KeyCheck(operatorKeys(settings));
  const check: EnvironmentCheck = (name, target) => keys.check(name, target, options.limitSeconds * 1_000);
  await checkEnvironments(environments, check, (name, finding) => {
    const program = finding.status === 'fail' ? lacked.get(name) : undefined;
    if (program === undefined) return tell(finding);
    tell({ ...finding, status: 'warn', message: `it needs ${program}, as said above. ${finding.message}` });
  });
  const held = keys.finding();
  if (held !== undefined) tell(held);
}

function refuseUnknown(names: readonly string[], { environments }: Project): void {
  const unknown = names.find((name) => !environments.has(name));
  if (unknown === undefined) return;
  const known = [...environments.keys()].join(', ') || 'none';
  throw new UsageError(`No environment is named ${JSON.stringify(unknown)}. Environments: ${known}.`);
}

type EnvironmentCheck = (name: string, target: EnvironmentTarget) => Promise<Finding>;

/** Checks a few environments at a time, and yields findings as they complete. */
async function checkEnvironments(
  environments: Project['environments'],
  check: EnvironmentCheck,
  tell: (name: string, finding: Finding) => void,
): Promise<void> {
  const waiting = [...environments];
  const next = async (): Promise<void> => {
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
      const [name, target] = entry;
      tell(name, await check(name, target));
    }
  };
  await Promise.all(Array.from({ length: STARTED_AT_ONCE }, next));
}

async function load(): Promise<readonly [Project, undefined] | readonly [undefined, Finding]> {
  try {
    return [await loadProject(), undefined];
  } catch (error) {
    const [message = '', ...lines] = messageOf(error).split('\n');
    const rest = 'Nothing that depends on it was looked at';
    return [undefined, { name: 'project', status: 'fail', message: `${message} ${rest}`, lines }];
  }
}

async function openStore({ settings }: Project): Promise<CheckedStore> {
  let store: CheckedStore | undefined;
  const finding = await findWithin('store', CHECK_LIMIT_MS, async () => {
    store = await checkStore(settings);
    return store.finding;
  });
  return { finding, report: store?.report };
}

async function findDisk({ settings }: Project): Promise<Finding | undefined> {
  let isThere = true;
  const finding = await findWithin('disk', CHECK_LIMIT_MS, async () => {
    const found = await checkDisk(settings);
    isThere = found !== undefined;
    return found ?? { name: 'disk', status: 'ok', message: '' };
  });
  return isThere ? finding : undefined;
}

function checkNode(): Finding {
  const { node } = process.versions;
  const facts = { version: node };
  if (node.localeCompare(OLDEST_NODE, 'en', { numeric: true }) >= 0) {
    return { name: 'node', status: 'ok', message: `Node.js ${node}`, facts };
  }
  return {
    name: 'node',
    status: 'fail',
    message: `Node.js ${node} is too old: install ${OLDEST_NODE} or newer`,
    facts,
  };
}

function describeProject(project: Project | undefined): string {
  return `${countText(project?.environments.size ?? 0, 'environment')}, pages at ${project?.settings.appUrl}`;
}

/** Makes a finding safe to print: no control characters and no secrets. */
function toShown(finding: Finding, redactor: Redactor): Finding {
  const message = printable(redactor.text(finding.message), 1_000);
  const lines = finding.lines?.map((line) => printableLines(redactor.text(line)));
  return { ...finding, message, ...(lines === undefined ? {} : { lines }) };
}

const MARKS = { ok: colors.green('ok  '), warn: colors.yellow('warn'), fail: colors.red('fail') } as const;

function printFinding({ name, status, message, lines = [] }: Finding): void {
  print(`${MARKS[status]}  ${padToWidth(name, NAME_WIDTH)}  ${message}`);
  for (const line of lines) print(colors.dim(`      ${line}`));
}

const NAME_WIDTH = 22;
