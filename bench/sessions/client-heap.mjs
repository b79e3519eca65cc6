// The process that holds sessions of hosts, through the pool: how much of its heap each takes, at rest and in a call.
import { fileURLToPath } from 'node:url';
import { EnvironmentPool } from '../../dist/environment/client/pool/environment-pool.js';
import { hashTargetCode } from '../../dist/environment/client/pool/module-hash.js';

const count = Number(process.env.BENCH_CLIENT_SESSIONS ?? 1_000);
const path = fileURLToPath(new URL('../../environments/counter/environment.ts', import.meta.url));
const target = { kind: 'module', path, limits: { sessionsPerProcess: 4_096 } };
const pool = new EnvironmentPool({ perEnvironment: 0, hosts: 1 });
const codeHash = await hashTargetCode(target);
const open = (sessions) =>
  Promise.all(Array.from({ length: sessions }, () => pool.connect(target, { codeHash, kind: 'run' })));

async function held() {
  for (let round = 0; round < 4; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    globalThis.gc();
  }
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed, rss };
}

const warm = await open(100);
await Promise.all(warm.map((client) => client.tools()));
const before = await held();
const clients = await open(count);
const idle = await held();
await Promise.all(clients.map((client) => client.tools()));
const calls = clients.map((client) => client.call('slow_increment', { delay_ms: 20_000 }));
const calling = await held();
const each = (after, key) => (after[key] - before[key]) / count / 1_000;
process.send?.({
  idleKb: each(idle, 'heap'),
  callingKb: each(calling, 'heap'),
  residentKb: each(calling, 'rss'),
});
for (const call of calls) call.catch(() => {});
await Promise.all([...clients, ...warm].map((client) => client.close()));
await pool.close();
process.disconnect?.();
