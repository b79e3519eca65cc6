import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { playDockerfile } from './image.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Installations, compilers and browsers, on machines that have other things to do. */
const PATIENCE_MS = 300_000;

const SCENARIOS: Readonly<Record<string, readonly string[]>> = {
  blank: ['remember', '--arg', 'sentence=The key is under the mat.'],
  class: ['clear_list'],
  functional: ['meeting', '--arg', 'people=3', '--arg', 'from=12', '--arg', 'to=14'],
  conversation: ['help', '--arg', 'user_script=["Can P204 come to Quay 7?","Thank you."]'],
  coding: ['repair'],
  browser: ['reserve', '--arg', 'seat=B3'],
};
const TEMPLATES = Object.keys(SCENARIOS);
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);

let directory = '';
let tarball = '';

/** Why npm cannot install the packages here; undefined where it can. */
let offline: string | undefined;

/** What an outsider has: a folder of his own, with this package installed from its tarball. */
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'proctor-templates-'));
  const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', directory], ROOT);
  expect(packed.code, packed.text).toBe(0);
  tarball = join(directory, readdirSync(directory).find((name) => name.endsWith('.tgz')) ?? '');
  writeFileSync(join(directory, 'package.json'), '{ "private": true }');
  // Asked first: without a network npm tries for minutes before it says so.
  offline = NO_NETWORK.exec((await run('npm', ['ping', '--fetch-retries=0'], directory)).text)?.[0];
  if (offline !== undefined && process.env.CI === undefined) {
    console.warn(`skipped: projects from the templates, since npm cannot install their packages: ${offline}`);
    return;
  }
  const installed = await run('npm', [...INSTALL, tarball], directory);
  expect(installed.code, installed.text).toBe(0);
}, PATIENCE_MS);

afterAll(() => {
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}, PATIENCE_MS);

const INSTALL = ['install', '--prefer-offline', '--no-audit', '--no-fund'] as const;
const NO_NETWORK = /^npm error request to .*(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT).*$/m;

describe.concurrent('a project from the packed package and the template', { timeout: 2 * PATIENCE_MS }, () => {
  // Two at once: the machines that run this have two cores.
  const halves = [0, 1].map((half) => TEMPLATES.filter((_, index) => index % 2 === half));
  test.for(halves.map((templates) => ({ names: templates.join(', '), templates })))(
    '$names installs, type-checks, passes its tests, and its solution has a reward of 1, in an image too',
    async ({ templates }, context) => {
      context.skip(offline !== undefined && process.env.CI === undefined, offline);
      for (const template of templates) await proveTemplate(template);
    },
  );
});

async function proveTemplate(template: string): Promise<void> {
  const name = `my-${template}`;
  const project = join(directory, name);
  const proctor = (args: readonly string[], cwd: string) => run('npx', ['--no-install', 'proctor', ...args], cwd);
  // A project depends on the packed proctor that it is told to, and otherwise on a copy of the one that is installed.
  const spec = template === 'functional' ? [] : ['--proctor', tarball];
  await proves(proctor(['init', name, '--template', template, ...spec], directory), `init ${template}`);
  // Standing alone: not with the packages that are installed around it.
  await proves(run('npm', INSTALL, project), `npm install of ${template}`);
  expect(existsSync(join(project, 'node_modules/proctor/dist/index.js'))).toBe(true);
  await proves(run('npx', ['tsc', '--skipLibCheck', 'false'], project), `types of proctor in ${template}`);
  addDrawing(project, name);
  await proves(run('npm', ['run', 'check'], project), `npm run check of ${template}`);
  await proves(run('npm', ['test'], project), `npm test of ${template}`);
  if (template === 'browser') {
    const skipped = await run('npm', ['test'], project, { PROCTOR_CHROMIUM: '/nowhere/chromium' });
    expect([skipped.code, skipped.text.match(/^Skipped: there is no Chromium/gm)?.length]).toEqual([0, 1]);
  }
  if (template === 'browser' && CHROMIUM === undefined) {
    console.warn('There is no Chromium: the template browser was not run.');
    return;
  }
  const scenario = SCENARIOS[template] ?? [];
  const ended = await proctor(['run', name, ...scenario, '--model', 'proctor/oracle', '--json'], project);
  expect([ended.code, ended.text], `proctor run of ${template}`).toEqual([
    0,
    expect.stringContaining('"mean_reward":1,'),
  ]);
  if (template === 'blank') await proveImage(project, name);
}

/** A package whose types are for browsers, as those of many are, and an import of it. */
function addDrawing(project: string, name: string): void {
  const folder = join(project, 'node_modules', 'drawing');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "name": "drawing", "version": "1.0.0", "types": "index.d.ts" }');
  const types = 'export declare function draw(into: SVGSVGElement | string, headers?: HeadersInit): string;';
  writeFileSync(join(folder, 'index.d.ts'), types);
  const use = "import { draw } from 'drawing';\n\nexport const drawn: typeof draw = (into) => draw(into);\n";
  writeFileSync(join(project, 'environments', name, 'drawn.ts'), use);
}

/** The image of docs/deploy, of a project that depends on a packed proctor. */
async function proveImage(project: string, name: string): Promise<void> {
  // Alone, as a build context is: nothing beside the project can be reached.
  const alone = mkdtempSync(join(tmpdir(), 'proctor-image-'));
  try {
    const context = join(alone, 'context');
    const ignored = /\/(node_modules|\.proctor)$/;
    cpSync(project, context, { recursive: true, filter: (path) => !ignored.test(path) });
    // A registry without the builds for other systems makes npm write a lock file that it refuses.
    await proves(
      run(process.execPath, ['scripts/complete-lock.mjs', join(context, 'package-lock.json')], ROOT),
      'lock',
    );
    const dockerfile = readFileSync(join(ROOT, 'docs/deploy/Dockerfile'), 'utf8');
    const image = await playDockerfile(dockerfile, context, alone, async (command, cwd) =>
      proves(run('sh', ['-c', command], cwd, { npm_config_prefer_offline: 'true' }), command),
    );
    rmSync(context, { recursive: true });
    const [program = '', ...args] = image.entrypoint.slice(2); // after tini and its --
    const scenario = SCENARIOS.blank ?? [];
    const played = [...args, 'run', name, ...scenario, '--model', 'proctor/oracle', '--json'];
    const ended = await run(join(image.directory, program), played, image.directory, { NODE_ENV: 'production' });
    expect([ended.code, ended.text]).toEqual([0, expect.stringContaining('"mean_reward":1,')]);
  } finally {
    rmSync(alone, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function proves(running: Promise<Ended>, what: string): Promise<void> {
  const { code, text } = await running;
  expect(code, `${what}:\n${text}`).toBe(0);
}

describe('the templates', () => {
  it('are those that a test of each exists for', () => {
    expect(readdirSync(join(ROOT, 'templates')).sort()).toEqual([...TEMPLATES].sort());
  });

  it.each(TEMPLATES)('%s pins the packages that this repository was tested with', (template) => {
    const own = readPackage(join(ROOT, 'package.json'));
    const { dependencies, devDependencies } = readPackage(join(ROOT, 'templates', template, 'package.json'));
    const { proctor, ...pins } = { ...dependencies, ...devDependencies };
    expect(proctor).toBe('__proctor__');
    const known = { ...own.dependencies, ...own.devDependencies };
    expect(pins).toEqual(Object.fromEntries(Object.keys(pins).map((name) => [name, known[name]])));
  });

  it.each(TEMPLATES)('%s leaves the types of packages to these', (template) => {
    expect(readFileSync(join(ROOT, 'templates', template, 'tsconfig.json'), 'utf8')).toContain('"skipLibCheck": true');
  });
});

interface Package {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

function readPackage(path: string): Package {
  return JSON.parse(readFileSync(path, 'utf8'));
}

interface Ended {
  readonly code: number;
  /** Standard output and error. */
  readonly text: string;
}

/** Runs a program to its end, without what this process was started with: no keys, no settings of a test runner. */
function run(
  command: string,
  args: readonly string[],
  cwd: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const isForeign = (name: string) =>
    /^(PROCTOR|OPENAI|VITEST|npm)_|^(FORCE_COLOR|CI|NODE_ENV|VITEST|TEST)$/.test(name);
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForeign(name)));
  const options = {
    cwd,
    env: { ...own, NO_COLOR: '1', ...variables },
    timeout: PATIENCE_MS,
    maxBuffer: 64 * 1024 * 1024,
  };
  return new Promise((resolve) => {
    execFile(command, [...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code) || 1, text: `${stdout}${stderr}` });
    });
  });
}
