// Starts a Docker Engine and a Podman of its own for tests, with images that need no registry, and ends them with its input.
// Prints one line of JSON: the engines with their addresses, or why there are none. `npm run engines` starts them by hand.
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const START_LIMIT_MS = 60_000;
const IMAGES = ['proctor-test-busy', 'proctor-test-node'];
const children = [];
let folder;

function find(program) {
  const folders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
  return folders.map((each) => join(each, program)).find((path) => existsSync(path));
}

function call(socketPath, method, path, archive) {
  return new Promise((resolve, reject) => {
    const headers = archive === undefined ? {} : { 'Content-Type': 'application/x-tar' };
    const request = http.request(
      { socketPath, method, path, headers, agent: false, timeout: START_LIMIT_MS },
      (reply) => {
        let text = '';
        reply.on('data', (chunk) => {
          text += chunk;
        });
        reply.on('end', () => resolve({ status: reply.statusCode, text }));
      },
    );
    request.on('timeout', () => request.destroy(new Error(`${path} took too long`)));
    request.on('error', reject);
    if (archive === undefined) request.end();
    else createReadStream(archive).pipe(request);
  });
}

async function untilUp(socketPath, child, log) {
  const endsAt = Date.now() + START_LIMIT_MS;
  while (Date.now() < endsAt) {
    if (child.exitCode !== null) break;
    if (
      await call(socketPath, 'GET', '/_ping').then(
        ({ status }) => status === 200,
        () => false,
      )
    )
      return;
    await sleep(100);
  }
  throw new Error(`the engine did not start: ${readFileSync(log, 'utf8').slice(-2_000)}`);
}

/** One image of busybox, and one with Node.js, whose libraries `ldd` names. */
function makeImages() {
  const root = join(folder, 'root');
  for (const name of ['bin', 'tmp', 'etc', 'root', 'proc', 'sys', 'dev'])
    mkdirSync(join(root, name), { recursive: true });
  copyFileSync(find('busybox'), join(root, 'bin/busybox'));
  const applets = execFileSync(join(root, 'bin/busybox'), ['--list'], { encoding: 'utf8' }).trim().split('\n');
  for (const applet of applets) if (applet !== 'busybox') symlinkSync('busybox', join(root, 'bin', applet));
  writeFileSync(
    join(root, 'etc/passwd'),
    'root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000::/tmp:/bin/sh\nother:x:1001:1001::/tmp:/bin/sh\n',
  );
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nagent:x:1000:\nother:x:1001:\n');
  chmodSync(join(root, 'tmp'), 0o1777);
  const pack = (name) => execFileSync('tar', ['-C', root, '-cf', join(folder, `${name}.tar`), '.']);
  pack(IMAGES[0]);
  const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
  for (const library of libraries) {
    mkdirSync(join(root, dirname(library)), { recursive: true });
    copyFileSync(library, join(root, library));
  }
  copyFileSync(process.execPath, join(root, 'bin/node'));
  pack(IMAGES[1]);
}

async function importImages(socketPath) {
  for (const name of IMAGES) {
    if ((await call(socketPath, 'GET', `/images/${name}:latest/json`)).status === 200) continue;
    const query = new URLSearchParams({ fromSrc: '-', repo: name, tag: 'latest' });
    const { status, text } = await call(socketPath, 'POST', `/images/create?${query}`, join(folder, `${name}.tar`));
    if (status !== 200 || text.includes('errorDetail')) throw new Error(`the image ${name} was refused: ${text}`);
  }
}

function start(name, program, args, env) {
  const log = join(folder, `${name}.log`);
  // A group of its own, so that Ctrl-C reaches this process alone, which ends the engines in order.
  const child = spawn('/bin/sh', ['-c', 'log=$1; shift; exec "$@" >"$log" 2>&1', 'sh', log, program, ...args], {
    detached: true,
    stdio: 'ignore',
    env: { PATH: process.env.PATH, HOME: folder, ...env },
  });
  children.push(child);
  return { child, log };
}

async function startDocker() {
  const socketPath = join(folder, 'docker.sock');
  const paths = ['--data-root', join(folder, 'docker-data'), '--exec-root', join(folder, 'docker-exec')];
  const more = ['--pidfile', join(folder, 'docker.pid'), '--bridge', 'none', '--default-ulimit', 'nofile=4096:4096'];
  const { child, log } = start('docker', find('dockerd'), ['--host', `unix://${socketPath}`, ...paths, ...more], {});
  await untilUp(socketPath, child, log);
  return socketPath;
}

async function startPodman() {
  const socketPath = join(folder, 'podman.sock');
  const config = join(folder, 'containers.conf');
  const limits = 'default_ulimits=["nofile=4096:4096","nproc=4096:4096"]';
  const engine = `runtime="runc"\ncgroup_manager="cgroupfs"\ntmp_dir="${folder}/podman-tmp"`;
  writeFileSync(
    config,
    `[containers]\n${limits}\n[engine]\n${engine}\n[network]\nnetwork_config_dir="${folder}/podman-networks"\n`,
  );
  const roots = ['--root', join(folder, 'podman-data'), '--runroot', join(folder, 'podman-run')];
  const service = ['system', 'service', '--time=0', `unix://${socketPath}`];
  const { child, log } = start('podman', find('podman'), [...roots, ...service], { CONTAINERS_CONF: config });
  await untilUp(socketPath, child, log);
  return socketPath;
}

/** Ends containers, networks and engines, and removes what they have mounted and written. */
async function end(sockets) {
  for (const socketPath of sockets) {
    const { text } = await call(socketPath, 'GET', '/containers/json?all=1').catch(() => ({ text: '[]' }));
    for (const { Id } of JSON.parse(text))
      await call(socketPath, 'DELETE', `/containers/${Id}?force=1&v=1`).catch(() => {});
    await call(socketPath, 'POST', '/networks/prune').catch(() => {});
  }
  for (const child of children) if (child.exitCode === null) child.kill('SIGTERM');
  const endsAt = Date.now() + 15_000;
  while (Date.now() < endsAt && children.some((child) => child.exitCode === null && child.signalCode === null))
    await sleep(100);
  for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '');
  for (const mount of mounts.filter((path) => path.startsWith(`${folder}/`)).reverse()) {
    try {
      execFileSync('umount', ['-l', mount], { stdio: 'ignore' });
    } catch {} // It is gone with another one.
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

async function main() {
  const given = (process.env.PROCTOR_TEST_ENGINES ?? '').split(',').filter((url) => url !== '');
  const tell = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
  const missing = ['busybox', 'tar', ...(given.length > 0 ? [] : ['dockerd', 'podman', 'runc'])].filter(
    (name) => !find(name),
  );
  if (given.length === 0 && process.getuid?.() !== 0) return tell({ unavailable: 'engines are started by root alone' });
  if (missing.length > 0) return tell({ unavailable: `these programs are missing: ${missing.join(', ')}` });
  folder = mkdtempSync(join(tmpdir(), 'proctor-engines-'));
  const sockets = [];
  let isEnding = false;
  const stop = async (code) => {
    if (isEnding) return;
    isEnding = true;
    await end(given.length > 0 ? [] : sockets);
    process.exit(code);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void stop(0));
  try {
    makeImages();
    if (given.length > 0) sockets.push(...given.map((url) => new URL(url).pathname));
    else sockets.push(await startDocker(), await startPodman());
    for (const socketPath of sockets) await importImages(socketPath);
    tell({ urls: sockets.map((path) => `unix://${path}`), busy: IMAGES[0], node: IMAGES[1] });
  } catch (error) {
    tell({ unavailable: error instanceof Error ? error.message : String(error) });
    await stop(1);
  }
  process.stdin.on('end', () => void stop(0)).resume();
}

await main();
