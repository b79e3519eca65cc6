import type { Command } from 'commander';
import { knownSecrets } from '../config/known-secrets.ts';
import { loadProject, type Project } from '../config/project.ts';
import { messageOf } from '../contract/errors.ts';
import { DEFAULT_PORTS } from '../contract/names.ts';
import { createRedactor, type Redactor } from '../contract/redaction.ts';
import { secretsOfVariables } from '../contract/secrets.ts';
import { countText } from './amounts.ts';
import { checkEnvironment } from './doctor/environment-check.ts';
import { type Finding, findWithin } from './doctor/finding.ts';
import { checkGateway, gatewaysOf, NO_GATEWAY } from './doctor/gateway-checks.ts';
import { checkPort } from './doctor/port-check.ts';
import { checkPrograms } from './doctor/program-checks.ts';
import { type CheckedStore, checkDisk, checkKeys, checkQueue, checkStore } from './doctor/store-checks.ts';
import { checkTelemetry } from './doctor/telemetry-check.ts';
import { SilentFailure } from './failure.ts';
import { parsePort, wholeNumber } from './options.ts';
import { collectorOf } from './telemetry.ts';
import { colors, print, printable, printableLines, printJson } from './terminal.ts';

const OLDEST_NODE = '20.19.0';
/** Of every check but those of gateways, which have their own, and of environments, which the option says. */
const CHECK_LIMIT_MS = 15_000;
/** Environments that are started at a time: a browser each, perhaps. */
const STARTED_AT_ONCE = 2;

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('Look at everything that Proctor stands on: what works, what does not, and what to set.')
    .option('--host <host>', 'the address that you mean to serve on', '127.0.0.1')
    .option('--port <port>', 'port of the run service (default 8320)', parsePort)
    .option('--scenario-port <port>', 'port of the scenario server (default 8321)', parsePort)
    .option('--limit-seconds <seconds>', 'that an environment may take to start', wholeNumber(1, 600), 60)
    .option('--json', 'print {"healthy", "checks": [{"name", "status", "message", ...}]}')
    .addHelpText(
      'after',
      `
Looks at the version of Node.js, the configuration, the store and its disk, the queue, the keys, the gateways, the
collector of spans, every environment (it is started as a run would start it, and ended), the programs that they name, and
the ports. Nothing is
changed and no secret is printed. It works beside a server that runs, and where nothing was ever started.

Each line begins with ok, warn or fail. Exit code: 0 when nothing fails; 1 when something does.

Examples:
  $ proctor doctor
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

async function doctor(options: DoctorOptions): Promise<void> {
  const [project, problem] = await load();
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
  if (project !== undefined) await checkProject(project, options, tell);
  const ports = project?.settings.ports ?? DEFAULT_PORTS;
  const { host, port = ports.runService, scenarioPort = ports.scenarioServer } = options;
  const places = [
    { server: 'run service', host, port, option: '--port' },
    { server: 'scenario server', host, port: scenarioPort, option: '--scenario-port' },
  ] as const;
  for (const place of places) tell(await findWithin(`port ${place.port}`, CHECK_LIMIT_MS, () => checkPort(place)));
  const healthy = findings.every(({ status }) => status !== 'fail');
  if (options.json) printJson({ healthy, checks: findings });
  if (!healthy) throw new SilentFailure();
}

async function checkProject(project: Project, options: DoctorOptions, tell: (finding: Finding) => void): Promise<void> {
  const { settings, environments } = project;
  const gateways = gatewaysOf(settings, process.env).map((gateway) => checkGateway(gateway)); // while the others are looked at
  const store = await openStore(project);
  tell(store.finding);
  const disk = await findDisk(project);
  if (disk !== undefined) tell(disk);
  tell(await findWithin('queue', CHECK_LIMIT_MS, () => checkQueue(settings, store)));
  if (store.finding.status !== 'fail') tell(checkKeys(store.report, options.host, project.directory));
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
  for (const finding of await checkPrograms(environments)) tell(finding);
  await checkEnvironments(project, options.limitSeconds * 1_000, tell);
}

/** In the order in which they end, a few at a time. */
async function checkEnvironments(
  { environments }: Project,
  limitMs: number,
  tell: (finding: Finding) => void,
): Promise<void> {
  const waiting = [...environments];
  const next = async (): Promise<void> => {
    for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
      const [name, target] = entry;
      tell(await checkEnvironment(name, target, limitMs));
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

/** What others wrote cannot move the cursor, and no secret is among it. */
function toShown(finding: Finding, redactor: Redactor): Finding {
  const message = printable(redactor.text(finding.message), 1_000);
  const lines = finding.lines?.map((line) => printableLines(redactor.text(line)));
  return { ...finding, message, ...(lines === undefined ? {} : { lines }) };
}

const MARKS = { ok: colors.green('ok  '), warn: colors.yellow('warn'), fail: colors.red('fail') } as const;

function printFinding({ name, status, message, lines = [] }: Finding): void {
  print(`${MARKS[status]}  ${name.padEnd(NAME_WIDTH)}  ${message}`);
  for (const line of lines) print(colors.dim(`      ${line}`));
}

const NAME_WIDTH = 22;
